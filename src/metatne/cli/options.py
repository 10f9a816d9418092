"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from metatne.cli.console import DownloadProgress
from metatne.config import parse_assignments, preset, read_toml
from metatne.graph.datasets import open_graph
from metatne.graph.store import Graph

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A dataset's name, or a graph directory.")
]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Directory with dataset files (or set METATNE_DATA)."),
]
PresetOption = Annotated[
    str, typer.Option("--preset", help="Settings to start from: default or paper.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings, over the preset.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One setting, over all others; repeatable."),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is at the output already.")
]


def load_graph(reference: str, data_dir: Path | None) -> Graph:
    """The graph that a GRAPH argument means, with a progress bar if it has to be fetched."""
    return open_graph(reference, data_dir=data_dir, progress=DownloadProgress())


def own_settings(config: Path | None, assignments: list[str] | None) -> dict[str, Any]:
    """The settings that the user gave: a file's, then single ones over them."""
    return (read_toml(config) if config else {}) | parse_assignments(assignments or [])


def all_settings(
    preset_name: str, dataset: str, config: Path | None, assignments: list[str] | None
) -> dict[str, Any]:
    """A preset's settings with the user's over them."""
    return preset(preset_name, dataset) | own_settings(config, assignments)
