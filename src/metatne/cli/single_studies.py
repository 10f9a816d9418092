"""Studies of `metatne reproduce` that are run once: the data sets, Figure 6, the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from metatne.cli.console import say, show_table
from metatne.cli.options import Cluster, check_new_file, load_graph
from metatne.errors import DatasetError
from metatne.evaluation.paper import paper_statistics
from metatne.experiments.search_space import (
    SEARCH_FILE,
    SPACE,
    points_to_try,
    published_point,
    search_file,
)
from metatne.experiments.single_runs import COUNTS, DATASETS_FILE
from metatne.experiments.studies import PAPER_DATASETS
from metatne.extras import needs_extra
from metatne.graph.datasets import DATASETS
from metatne.graph.store import Graph
from metatne.storage import write_json

OF_THE_FIGURE = "paper-small"
"""The preset of Figure 6, which the default head, without a transformation, cannot draw."""


def count_datasets(text: str | None, out: Path, data_dir: Path | None) -> None:
    """Table 1, shown and kept."""
    path = out / DATASETS_FILE
    check_new_file("--out", path)
    counted = _counted(text, data_dir)
    show_table(_datasets_table(counted))
    write_json(path, {"datasets": counted})


def draw_figure(reference: str, trial: int, preset: str, out: Path, data_dir: Path | None) -> None:
    """Figure 6: two queries before and after adaptation."""
    with needs_extra("experiments", "this study"):
        from metatne.experiments.visual import draw_visual

    graph = load_graph(reference, data_dir)
    paths = [out / f"visual-{graph.name}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        check_new_file("--out", path)
    chosen = OF_THE_FIGURE if preset == "default" else preset
    say(f"training with the preset {chosen} first: a minute or more")
    say(draw_visual(graph, trial, paths, preset=chosen))
    say(f"drawn: {', '.join(map(str, paths))}")


def run_search(
    reference: str,
    trial: int,
    cluster: Cluster,
    samples: int,
    steps: int,
    minutes: float,
    out: Path,
    data_dir: Path | None,
) -> None:
    """Table 4: the search, and the best of its points beside the published one."""
    with needs_extra("experiments", "this study"):
        from metatne.cluster.session import plain_errors, ray_session
        from metatne.experiments.search import search

    graph = load_graph(reference, data_dir)
    path = out / SEARCH_FILE
    check_new_file("--out", path)

    def show(row: dict[str, Any]) -> None:
        say(
            f"point {row['point_hash']}: validation AUC {row['auc']:.4f}  F1 {row['f1']:.4f}  "
            f"{row['steps']:,} steps, {row['seconds']:.0f} s"
        )

    with ray_session(cluster.address), plain_errors():
        found = search(
            reference,
            trial,
            search_file(path),
            data_dir=data_dir,
            num_samples=samples,
            num_steps=steps,
            seconds=60 * minutes,
            on_point=show,
        )
    num_points = len(points_to_try(graph.name, samples, seed=trial))
    say(f"{len(found)} of {num_points} points tried: {path}")
    if len(found) < num_points:
        say("the time was over; give the same command to go on with the others")
    published = published_point(graph.name)
    table = Table(box=None, pad_edge=False)
    for column in ("setting", "best found", "published"):
        table.add_column(column)
    best = found[0]
    for name in SPACE:
        table.add_row(name, str(best["point"][name]), str(published[name]))
    reached = [
        f"{row['auc']:.4f} / {row['f1']:.4f}"
        for row in (best, *(row for row in found if row["point"] == published))
    ]
    table.add_row("validation AUC / F1", *[*reached, "not tried"][:2])
    show_table(table)


def those_that_are_here(names: Sequence[str], data_dir: Path | None) -> Iterator[tuple[str, Graph]]:
    """Data sets whose files are here or can be had; there must be one."""
    found = 0
    for name in names:
        try:
            yield name, load_graph(name, data_dir)
            found += 1
        except DatasetError as error:
            say(f"{name} is left out: {str(error).splitlines()[0]}")
    if not found:
        raise DatasetError(
            f"none of {', '.join(names)} is here, and none can be downloaded; "
            "say where their files are (--data-dir DIR), or name a graph (--dataset)"
        )


def _counted(text: str | None, data_dir: Path | None) -> list[dict[str, Any]]:
    """Table 1: what there is, what the paper says, and why they differ."""
    if text is None:
        graphs = [graph for _, graph in those_that_are_here(PAPER_DATASETS, data_dir)]
    else:
        graphs = [load_graph(part.strip(), data_dir) for part in text.split(",")]
    counted = []
    for graph in graphs:
        entry = DATASETS.get(graph.name)
        counted.append(
            {
                "dataset": graph.name,
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "labels": graph.labels.num_labels,
                "published": paper_statistics(entry.paper_key if entry else None) or {},
                "note": (entry.note if entry else None) or "",
            }
        )
    return counted


def _datasets_table(counted: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("dataset")
    for name in COUNTS:
        table.add_column(name, justify="right")
        table.add_column("paper", justify="right")
    for row in counted:
        published = row["published"]
        cells = []
        for kind in COUNTS:
            cells += [f"{row[kind]:,}", f"{published[kind]:,}" if kind in published else "-"]
        table.add_row(row["dataset"], *cells)
        if row["note"]:
            say(f"{row['dataset']}: {row['note']}")
    return table
