"""`metatne graph`: graphs in, and what is in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say, show
from metatne.cli.options import (
    DataDirOption,
    GraphArgument,
    OverwriteOption,
    check_new_directory,
    load_graph,
)
from metatne.graph.readers import FORMATS, read_graph

EDGES, LABELS, NODES = "How the edges are written", "Labels", "Which nodes stay"

IMPORT_EXAMPLE = """\b
Example:
  metatne graph import edges.csv --labels labels.csv --out mygraph"""

app = new_app(help="Import a graph of your own, or look at one.", no_args_is_help=True)


@app.command("import", cls=Command, epilog=IMPORT_EXAMPLE)
def import_graph(
    edges: Annotated[
        Path,
        typer.Argument(
            metavar="EDGES",
            help="Edge list (CSV, TSV or blanks; gzip or not), Parquet, GraphML, MATLAB file "
            "or zip of ASU's.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Directory for the stored graph.")
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Known labels: a node and a label a line, a node and its labels, or a table "
            "of 1, 0 and empty cells (unknown).",
            rich_help_panel=LABELS,
        ),
    ] = None,
    label_format: Annotated[
        str | None,
        typer.Option(
            "--label-format",
            metavar="pairs|lists|wide",
            help="Which of the three; detected if not given.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    label_header: Annotated[
        bool | None,
        typer.Option(
            "--label-header/--no-label-header",
            help="Whether the first line of the labels names the columns; detected if not given.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    label_attribute: Annotated[
        str | None,
        typer.Option(
            "--label-attribute",
            metavar="NAME",
            help="The node attribute of a GraphML file that has the labels.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    unannotated: Annotated[
        Path | None,
        typer.Option(
            "--unannotated",
            metavar="FILE",
            help="Nodes whose labels nobody knows, one a line.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    unlisted_unknown: Annotated[
        bool,
        typer.Option(
            "--unlisted-unknown",
            help="Of nodes that the labels do not name, nothing is known; "
            "without this, they lack all labels.",
            rich_help_panel=LABELS,
        ),
    ] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="The format of EDGES; detected if not given.",
            rich_help_panel=EDGES,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            help="Between the fields of an edge list (\\t is a tab); detected if not given.",
            rich_help_panel=EDGES,
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line names the columns; detected if not given.",
            rich_help_panel=EDGES,
        ),
    ] = None,
    weighted: Annotated[
        bool | None,
        typer.Option(
            "--weighted/--unweighted",
            help="Ask for weights, or leave them aside; taken if there are any by default.",
            rich_help_panel=EDGES,
        ),
    ] = None,
    directed: Annotated[
        bool,
        typer.Option(
            "--directed",
            help="The edges are directed; they are made undirected.",
            rich_help_panel=EDGES,
        ),
    ] = False,
    keep_unlinked: Annotated[
        bool,
        typer.Option(
            "--keep-unlinked",
            help="Keep nodes that only the labels name, as isolated ones; "
            "without this, they are an error.",
            rich_help_panel=NODES,
        ),
    ] = False,
    labelled_only: Annotated[
        bool,
        typer.Option(
            "--labelled-only",
            help="Keep the nodes whose labels are known, and the edges among them.",
            rich_help_panel=NODES,
        ),
    ] = False,
    drop_isolated: Annotated[
        bool,
        typer.Option(
            "--drop-isolated", help="Leave out nodes without edges.", rich_help_panel=NODES
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What to call the graph, if not like DIR."),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Read edges and known labels, and store them as a graph.

    Everything is checked first: a line that cannot be read is named, and then nothing is
    written. Self-loops and repeated edges are removed and counted.
    """
    check_new_directory("--out", out, overwrite=overwrite)
    graph = read_graph(
        edges,
        labels,
        format=format_,
        label_format=label_format,
        label_header=label_header,
        label_attribute=label_attribute,
        unannotated=unannotated,
        unlisted_unknown=unlisted_unknown,
        delimiter=None if delimiter is None else delimiter.replace(r"\t", "\t"),
        header=header,
        weighted=weighted,
        keep_unlinked=keep_unlinked,
        labelled_only=labelled_only,
        drop_isolated=drop_isolated,
        directed=directed,
        name=name or out.absolute().name,
    )
    graph.save(out, overwrite=overwrite)
    for line in graph.report.lines():
        say(line)
    for one, other in _alike_but_for_case(graph.labels.names):
        say(f"the labels {one!r} and {other!r} differ in case alone, and count as two")
    num_unlisted = graph.report.num_unlisted
    if graph.labels.num_labels and num_unlisted:
        say(
            f"{num_unlisted:,} nodes are not among the labels and count as lacking all of them; "
            "if nobody looked at them, import with --unlisted-unknown"
        )
    say(f"stored {graph!r} in {out}")


def _alike_but_for_case(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of labels that are one, perhaps, written in two ways."""
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(name.casefold(), name)) != name:
            yield other, name


@app.command("info", cls=Command)
def show_info(
    graph: GraphArgument,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Show a graph's size, degrees, labels and what is unknown."""
    loaded = load_graph(graph, data_dir)
    summary = loaded.summary()
    if as_json:
        show(json.dumps(summary, indent=2, ensure_ascii=False))
        return
    width = max(map(len, summary))
    for key, value in summary.items():
        show(f"{key.replace('_', ' '):{width}}  {_shown(value)}")
    for line in loaded.report.lines():
        say(f"when it was imported: {line}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
