"""The part of RESULTS.md on what is run once: data sets, the search, the picture, own settings."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metatne.errors import ConfigError, InputError
from metatne.evaluation.methods import check_method
from metatne.evaluation.protocol import PAPER
from metatne.evaluation.results import ResultsFile, trial_key
from metatne.experiments.search_space import (
    KEY,
    SEARCH_FILE,
    SPACE,
    best_first,
    published_point,
    search_file,
)
from metatne.experiments.series import series_name
from metatne.integrity import parse_json

DATASETS_FILE = "datasets.json"
EVALUATED = "evaluate"
"""Folder of the results with lines that `metatne evaluate` wrote, with settings of one's own."""

EVALUATED_TITLE = f"""
## Trials with settings of their own

Means over trials that `metatne evaluate … --out results/{EVALUATED}/FILE.jsonl` ran. They are in no
table above: most have other steps, walks or tasks than those that are compared there.

| | method | trials | tasks | AUC | F1 | recall | steps | seconds | GB | settings |
|---|---|---|---|---|---|---|---|---|---|---|"""

MEANS = ("auc", "f1", "recall", "steps", "seconds", "memory_gb")
COUNTS = ("nodes", "edges", "labels")
SCHEDULES = {
    1: "as all steps up to a point's `decay_period` are structural, points that were ended before "
    "it were judged without a meta step",
    2: "here `decay_period` is shortened as the training is, so that the same share of it is "
    "structural",
}
"""By the version of the search: what became of the schedule."""

PICTURE = "Two queries before and after adaptation"

Row = dict[str, Any]


def write_single_runs(results: Path, plots: Path, beside: Path) -> str:
    """Markdown of what `metatne reproduce datasets`, `search` and `visual` and `metatne evaluate`
    left, in a page in `beside`; pictures may be in either folder.
    """
    parts = []
    path = results / DATASETS_FILE
    if path.exists():
        with _as_written(path):
            parts += list(_datasets(parse_json(path.read_text(encoding="utf-8"))))
    parts += list(_searches(search_file(results / SEARCH_FILE).rows()))
    if evaluated := list(_evaluated(evaluated_rows(results))):
        parts += [EVALUATED_TITLE, *evaluated, ""]
    return "\n".join([*parts, *_pictures(results, plots, beside)])


def evaluated_rows(results: Path) -> list[Row]:
    """Trials with settings of their own, each once, though it may be in two files."""
    once: dict[tuple[Any, ...], Row] = {}
    for path in sorted((results / EVALUATED).glob("*.jsonl")):
        for row in ResultsFile(path).rows():
            with _as_written(path):
                _check_evaluated(row)
            once.setdefault(trial_key(row), row)
    return list(once.values())


@contextmanager
def _as_written(path: Path) -> Iterator[None]:
    """Around the reading of what a command of ours has written, and nobody else should have."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ConfigError) as error:
        raise InputError(
            f"{path}: expected what `metatne` writes there, found something else ({error}); "
            "take it away, or run the command again"
        ) from error


def _datasets(facts: Any) -> Iterator[str]:
    yield "\n## The data sets (Table 1)\n\n`metatne reproduce datasets`\n"
    titles = [f"{count} | paper" for count in COUNTS]
    yield f"| | {' | '.join(titles)} | |"
    yield f"|{'---|' * (2 + 2 * len(COUNTS))}"
    for row in facts["datasets"]:
        cells = [f"{row[count]:,} | {_published(row, count)}" for count in COUNTS]
        yield f"| {row['dataset']} | {' | '.join(cells)} | {row['note']} |"
    yield ""


def _published(row: Row, count: str) -> str:
    value = row["published"].get(count)
    return "" if value is None else f"{value:,}"


def _searches(rows: list[Row]) -> Iterator[str]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["point"].keys() != SPACE.keys():
            raise InputError(
                f"{SEARCH_FILE}: expected points with {', '.join(SPACE)}, found {row['point']}; "
                "take that line away"
            )
        groups.setdefault(tuple(row[name] for name in KEY if name != "point_hash"), []).append(row)
    for group in groups.values():
        yield from _search(best_first(group))


def _search(found: list[Row]) -> Iterator[str]:
    best = found[0]
    published = published_point(best["dataset"])
    tried = [row for row in found if row["point"] == published]
    shown = [best, *tried]
    version = best.get("version", 1)
    num_drawn = max(1, len(found) - len(tried))
    yield (
        f"\n## The search for hyper-parameters (Table 4), {best['dataset']}, trial "
        f"{best['trial']}\n\n`metatne reproduce search --dataset {best['dataset']} --trials "
        f"{best['trial']} --steps {best['num_steps']} --samples {num_drawn}`\n\n"
        f"Points of the paper's space that were tried: {len(found)}, "
        f"{'with' if tried else 'without'} the published one; {best['num_steps']:,} steps at most "
        f"(asynchronous HyperBand ends most sooner), {best['validation_tasks']:,} validation "
        f"tasks. The published settings were found with 40,000 steps; {SCHEDULES[version]}.\n"
    )
    yield "| setting | best found | published |\n|---|---|---|"
    for name in SPACE:
        yield f"| `{name}` | {best['point'][name]} | {published[name]} |"
    for measure in ("auc", "f1"):
        cells = [f"{row[measure]:.4f}" for row in shown]
        yield f"| validation {measure.upper()} | {' | '.join([*cells, 'not tried'][:2])} |"
    cells = [f"{row['step']:,} of {row['steps']:,}" for row in shown]
    yield f"| best step, of steps taken | {' | '.join([*cells, ''][:2])} |"
    yield ""


def _check_evaluated(row: Row) -> None:
    """Raise whatever a row raises that has not what a table needs."""
    check_method(row["method"])
    dict(row.get("settings", {}))
    for name in MEANS:
        float(row[name] + 0)  # of a text that reads like a number, no mean can be taken


def _evaluated(rows: list[Row]) -> Iterator[str]:
    """A line of a table for each cell, method and settings."""
    groups: dict[tuple[str, str, str, int, str], list[Row]] = {}
    for row in rows:  # the hash names the very graph, of which there may be two of one name
        groups.setdefault((*_titles(row), row["tasks"], row["config_hash"]), []).append(row)
    for (cell, method, settings, tasks, _), group in groups.items():
        mean = {name: statistics.mean(row[name] for row in group) for name in MEANS}
        metrics = [f"{mean[metric]:.4f}" for metric in ("auc", "f1", "recall")]
        yield (
            f"| {cell} | {method} | {len(group)} | {tasks:,} | {' | '.join(metrics)} "
            f"| {mean['steps']:,.0f} | {mean['seconds']:,.0f} | {mean['memory_gb']:.1f} "
            f"| {settings} |"
        )


def _titles(row: Row) -> tuple[str, str, str]:
    """What was asked, of which method, with which settings."""
    shape = f"{row['positives']}/{row['negatives']}"
    queries = f"{row['query_positives']}/{row['query_negatives']}"
    cell = [row["dataset"], shape]
    if queries != shape:
        cell.append(f"queries {queries}")
    if row["protocol"] != PAPER:
        cell.append(row["protocol"])
    settings = "not written down"  # lines of before
    if "settings" in row:
        given = [f"`{name}={value}`" for name, value in row["settings"].items()]
        settings = ", ".join(given) or "as they are"
    return _escaped(", ".join(cell)), series_name(row), _escaped(settings)


def _escaped(text: str) -> str:
    """For a cell of a table."""
    return text.replace("|", "\\|")


def _pictures(results: Path, plots: Path, beside: Path) -> Iterator[str]:
    folders = dict.fromkeys((plots, results))
    found = {path.name: path for folder in folders for path in sorted(folder.glob("visual-*.svg"))}
    if found:
        yield f"\n## {PICTURE} (Figure 6)\n\n`metatne reproduce visual`\n"
        yield (
            "One task of a trial in each row: t-SNE of its supports, their prototypes, and a query "
            "that is on the wrong side by the embeddings as they are (left; log-odds above 0 are "
            "for the label) and on the right one by those that are adapted to it (right).\n"
        )
    for path in found.values():
        name = path.stem.removeprefix("visual-")
        yield f"![{PICTURE}, {name}]({os.path.relpath(path, beside)})\n"
