"""`metatne graph` and `metatne datasets`: graphs in, and what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from metatne.cli.console import output, say
from metatne.cli.options import DataDirOption, GraphArgument, OverwriteOption, load_graph
from metatne.errors import OutputExistsError
from metatne.graph.datasets import list_datasets
from metatne.graph.readers import FORMATS, read_graph

app = typer.Typer(help="Import a graph of one's own, and look at one.", no_args_is_help=True)


@app.command("import")
def import_graph(
    edges: Annotated[
        Path, typer.Argument(metavar="EDGES", help="Edge list, archive or matrix file.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Directory for the stored graph.")],
    labels: Annotated[
        Path | None, typer.Option("--labels", help="File of known labels; unknown is empty.")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help=f"Of EDGES: {', '.join(FORMATS)}.")
    ] = None,
    label_format: Annotated[
        str | None, typer.Option("--label-format", help="Of the labels: pairs, lists or wide.")
    ] = None,
    unannotated: Annotated[
        Path | None,
        typer.Option("--unannotated", help="File of nodes whose labels nobody knows."),
    ] = None,
    unlisted_unknown: Annotated[
        bool,
        typer.Option("--unlisted-unknown", help="Nodes that the labels do not name are unknown."),
    ] = False,
    keep_unlinked: Annotated[
        bool,
        typer.Option("--keep-unlinked", help="Keep nodes that only the labels name, isolated."),
    ] = False,
    labelled_only: Annotated[
        bool, typer.Option("--labelled-only", help="Keep the annotated nodes and their edges.")
    ] = False,
    drop_isolated: Annotated[
        bool, typer.Option("--drop-isolated", help="Leave out nodes without edges.")
    ] = False,
    directed: Annotated[
        bool, typer.Option("--directed", help="EDGES are directed; they are made undirected.")
    ] = False,
    name: Annotated[str | None, typer.Option("--name", help="What to call the graph.")] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Read edges and known labels, check and clean them, and store them as a graph."""
    if out.exists() and not overwrite:
        raise OutputExistsError(f"--out: {out} exists already; name another, or add --overwrite")
    graph = read_graph(
        edges,
        labels,
        format=format_,
        label_format=label_format,
        unannotated=unannotated,
        unlisted_unknown=unlisted_unknown,
        keep_unlinked=keep_unlinked,
        labelled_only=labelled_only,
        drop_isolated=drop_isolated,
        directed=directed,
        name=name,
    )
    graph.save(out, overwrite=overwrite)
    for line in graph.report.lines():
        say(line)
    say(f"stored {graph!r} in {out}")


@app.command("info")
def show_info(
    graph: GraphArgument,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Show what is in a graph: sizes, degrees, labels and what is unknown."""
    loaded = load_graph(graph, data_dir)
    summary = loaded.summary()
    if as_json:
        output.print_json(json.dumps(summary))
        return
    table = Table(box=None, show_header=False)
    for key, value in summary.items():
        table.add_row(key.replace("_", " "), _shown(value))
    output.print(table)
    for line in loaded.report.lines():
        say(line)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def datasets() -> None:
    """List the graphs that can be named instead of a directory."""
    table = Table(box=None)
    for column in ("name", "nodes", "edges", "labels", "about"):
        table.add_column(column, justify="left" if column in ("name", "about") else "right")
    for dataset in list_datasets():
        where = "in the package" if not dataset.files else ", ".join(f.name for f in dataset.files)
        table.add_row(
            dataset.name,
            f"{dataset.num_nodes:,}",
            f"{dataset.num_edges:,}",
            f"{dataset.num_labels:,}",
            f"{dataset.title} ({where}); {dataset.licence}",
        )
    output.print(table)
