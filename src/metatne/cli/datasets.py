"""`metatne datasets`: the graphs that have a name."""

from __future__ import annotations

from rich.table import Table

from metatne.cli.command import Command, new_app
from metatne.cli.console import show_table
from metatne.graph.datasets import list_datasets

app = new_app()


@app.command(cls=Command)
def datasets() -> None:
    """List the graphs that can be named instead of a directory."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "nodes", "edges", "labels", "source", "about"):
        is_number = column in ("nodes", "edges", "labels")
        table.add_column(column, justify="right" if is_number else "left")
    for dataset in list_datasets():
        where = "in the package" if not dataset.files else ", ".join(f.name for f in dataset.files)
        table.add_row(
            dataset.name,
            f"{dataset.num_nodes:,}",
            f"{dataset.num_edges:,}",
            f"{dataset.num_labels:,}",
            dataset.home,
            f"{dataset.title} ({where}); {dataset.licence}",
        )
    show_table(table)
