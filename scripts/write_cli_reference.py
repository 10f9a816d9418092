"""Write docs/cli.md from the commands themselves: `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from metatne.cli import app
from metatne.cli.command import sections
from metatne.config import PRESETS, Config, preset
from metatne.graph.datasets import DATASETS

TARGET = Path(__file__).parents[1] / "docs" / "cli.md"

INTRODUCTION = """\
<!-- Written by scripts/write_cli_reference.py (`make docs`); do not edit by hand. -->

# Command line

{help}

Every command has `--help`. Results go to standard output and everything else (remarks, progress
bars, errors) to standard error, so results can be piped; where standard error is no terminal, bars
become plain lines.

| exit code | meaning |
|---|---|
| 0 | all went well |
| 1 | the run failed: not enough memory, a full disk, a training that diverged, Ctrl-C |
| 2 | a mistake in what was given; the message says what was expected and what was found |

The messages of common mistakes are in [errors.md](errors.md).
"""

SETTINGS = """\
## Settings

What `--set KEY=VALUE` and the lines of a `--config` file may change, in `train` and `evaluate`. A
later one wins: the preset's, then the file's, then `--seed`, then `--set`. `none` takes away what
may be absent (`--set patience=none`). The preset `paper` differs from one data set to the next, as
in the paper; on other graphs it is BlogCatalog's.

"""


def main() -> None:
    TARGET.write_text(reference(), encoding="utf-8")


def reference() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="metatne")
    pages = [INTRODUCTION.format(help=root.help)]
    pages += [_section(command, ctx) for command, ctx in _commands(root, context)]
    return "\n".join([*pages, SETTINGS + _settings_table()])


def _commands(group: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """The commands that do something, in the order of the help, each with its context."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        ctx = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _commands(command, ctx)
        else:
            yield command, ctx


def _section(command: Any, ctx: Any) -> str:
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    lines = [f"## {ctx.command_path}", "", "```", usage, "```", "", command.help, ""]
    for title, params in sections(command.params).items():  # --help is not among them
        lines += [f"**{title}**", "", "| | |", "|---|---|"]
        entries = (command.entry(param, ctx) for param in params)
        lines += [f"| `{_cell(name)}` | {_cell(text)} |" for name, text in entries]
        lines.append("")
    if command.epilog:
        lines += ["Example:", "", "```", command.epilog.split("Example:\n")[1].strip(), "```", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    text = re.sub(r"  \[(.*)\]$", r" *(\1)*", text)
    return text.replace("|", r"\|").replace("x>=", "at least ")


def _by_dataset(presets: dict[str, dict[str, Any]], name: str, default: Any) -> str:
    """One value where all data sets have the same, else each one's."""
    found = {_value(settings.get(name, default)) for settings in presets.values()}
    if len(found) == 1:
        return found.pop()
    return ", ".join(f"{_value(settings[name])} ({each})" for each, settings in presets.items())


def _settings_table() -> str:
    by_dataset = [
        {name: preset(each, name) for name in DATASETS if DATASETS[name].paper_key}
        for each in PRESETS[2:]  # the others are the same for all
    ]
    lines = [
        f"| setting | {' | '.join(f'`{name}`' for name in PRESETS)} | meaning |",
        f"|{'---|' * (2 + len(PRESETS))}",
    ]
    short = preset("short")
    for name, field in Config.model_fields.items():
        values = (
            _value(field.default),
            _value(short.get(name, field.default)),
            *(_by_dataset(each, name, field.default) for each in by_dataset),
        )
        lines.append(f"| `{name}` | {' | '.join(values)} | {field.description} |")
    return "\n".join([*lines, ""])


def _value(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
