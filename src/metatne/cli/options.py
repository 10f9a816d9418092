"""Arguments and options that several commands share, and what they mean."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from metatne.cli.console import DownloadProgress
from metatne.config import PRESETS, make_config, parse_assignments, preset, read_toml
from metatne.errors import ConfigError, InputError, OutputExistsError
from metatne.graph.datasets import DATA_VARIABLE, open_graph
from metatne.graph.store import Graph

SETTINGS, MACHINES = "Settings", "One or several machines"
ENGINES = ("local", "ray")

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name (`metatne datasets`), or a directory that "
        "`metatne graph import` wrote.",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help=f"Look here for the files of datasets before downloading them "
        f"(so does the variable {DATA_VARIABLE}).",
    ),
]
PresetOption = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="|".join(PRESETS),
        help="Settings to start from: good ones for any graph, or the paper's.",
        rich_help_panel=SETTINGS,
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        help="Settings of your own, one `key = value` a line; they go over the preset's.",
        rich_help_panel=SETTINGS,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="One setting, such as dim=64; goes over all others; may be repeated. "
        "docs/cli.md lists the settings.",
        rich_help_panel=SETTINGS,
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="|".join(ENGINES),
        help="Work in this process, or by workers of Ray (pip install 'metatne[cluster]').",
        rich_help_panel=MACHINES,
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Join the Ray cluster there, whose machines must see the same directories; "
        "without it a Ray starts on this machine and ends with the command.",
        rich_help_panel=MACHINES,
    ),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is at --out already.")
]


@dataclass(frozen=True)
class Cluster:
    """Workers to start, and the cluster to start them in if it is not a local one."""

    num_workers: int | None
    address: str | None


def chosen_cluster(engine: str, num_workers: int | None, address: str | None) -> Cluster | None:
    """What --engine, --workers and --address mean together; None is this process."""
    if engine not in ENGINES:
        raise InputError(f"--engine: expected {' or '.join(ENGINES)}, found {engine!r}")
    if engine == "local":
        for option, value in (("--workers", num_workers), ("--address", address)):
            if value is not None:
                raise InputError(f"{option}: needs --engine ray; this process works alone")
        return None
    import_module("metatne.cluster")  # which says so if Ray is not installed
    return Cluster(num_workers, address)


def load_graph(reference: str, data_dir: Path | None) -> Graph:
    """The graph that a GRAPH argument means, with a progress bar if it has to be fetched."""
    check_data_dir(data_dir)
    with DownloadProgress() as progress:
        return open_graph(reference, data_dir=data_dir, progress=progress)


def check_data_dir(data_dir: Path | None) -> None:
    """Refuse a directory of data sets that is not there."""
    if data_dir is not None and not data_dir.is_dir():
        raise InputError(f"--data-dir: there is no directory {data_dir}")


def own_settings(config: Path | None, assignments: list[str] | None) -> dict[str, Any]:
    """The settings that the user gave: a file's, then single ones over them."""
    return _file_settings(config) | parse_assignments(assignments or [])


def all_settings(
    preset_name: str,
    dataset: str,
    config: Path | None,
    seed: int | None,
    assignments: list[str] | None,
) -> dict[str, Any]:
    """A preset's settings with the user's over them, the more particular the later."""
    given = {} if seed is None else {"seed": seed}
    settings = (
        preset(preset_name, dataset)
        | _file_settings(config)
        | given
        | parse_assignments(assignments or [])
    )
    return make_config(settings, source="settings").model_dump()


def _file_settings(config: Path | None) -> dict[str, Any]:
    if config is None:
        return {}
    if config.is_dir():
        raise ConfigError(f"--config: expected a TOML file, found the directory {config}")
    return read_toml(config)


def check_new_directory(option: str, path: Path, *, overwrite: bool) -> None:
    """Refuse a directory that exists, unless it may be replaced, or that cannot be written."""
    if path.exists() and not overwrite:
        raise OutputExistsError(
            f"{option}: {path} exists already; name another, or add --overwrite"
        )
    _check_parent(option, path)


def check_new_file(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before there is work that would be lost."""
    if path.is_dir():
        raise InputError(f"{option}: expected a file, found the directory {path}")
    _check_parent(option, path)


def _check_parent(option: str, path: Path) -> None:
    """The directory that is to hold `path`, or the nearest one that exists, must be writable."""
    parent = path.parent
    while not os.path.lexists(parent):
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"{option}: {parent} is not a directory, so {path} cannot be in it")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{option}: the directory {parent} cannot be written to")
