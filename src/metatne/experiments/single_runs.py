"""The part of RESULTS.md on studies that are run once: data sets, the search, the picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metatne.errors import InputError
from metatne.experiments.search_space import (
    SEARCH_FILE,
    best_first,
    published_point,
    search_file,
)
from metatne.integrity import parse_json

DATASETS_FILE = "datasets.json"
COUNTS = ("nodes", "edges", "labels")
PICTURE = "Two queries before and after adaptation"

Row = dict[str, Any]


def write_single_runs(results: Path, plots: Path, beside: Path) -> str:
    """Markdown of what `metatne reproduce datasets`, `search` and `visual` left, in a page in
    `beside`; pictures may be in either folder.
    """
    parts = []
    path = results / DATASETS_FILE
    if path.exists():
        try:
            parts += list(_datasets(parse_json(path.read_text(encoding="utf-8"))))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}: expected what `metatne reproduce` writes there, found something "
                "else; take it away, or run the study again"
            ) from error
    parts += list(_searches(search_file(results / SEARCH_FILE).rows()))
    return "\n".join([*parts, *_pictures(results, plots, beside)])


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
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["trial"], row["num_steps"]), []).append(row)
    for (dataset, trial, num_steps), group in groups.items():
        yield from _search(dataset, trial, num_steps, best_first(group))


def _search(dataset: str, trial: int, num_steps: int, found: list[Row]) -> Iterator[str]:
    published = published_point(dataset)
    tried = [row for row in found if row["point"] == published]
    yield (
        f"\n## The search for hyper-parameters (Table 4), {dataset}, trial {trial}\n\n"
        f"`metatne reproduce search --dataset {dataset} --trials {trial} --steps {num_steps}`\n\n"
        f"{len(found)} points of the paper's space, {num_steps:,} steps at most (asynchronous "
        "HyperBand ends most sooner, and so does the end of the time). The published settings "
        "were found with 40,000 steps.\n"
    )
    yield "| setting | best found | published |\n|---|---|---|"
    for name, value in found[0]["point"].items():
        yield f"| `{name}` | {value} | {published[name]} |"
    for measure in ("auc", "f1"):
        cells = [f"{row[measure]:.4f}" for row in (found[0], *tried[:1])]
        yield f"| validation {measure.upper()} | {' | '.join([*cells, 'not tried'][:2])} |"
    cells = [f"{row['step']:,} of {row['steps']:,}" for row in (found[0], *tried[:1])]
    yield f"| best step, of steps taken | {' | '.join([*cells, ''][:2])} |"
    yield ""


def _pictures(results: Path, plots: Path, beside: Path) -> Iterator[str]:
    folders = dict.fromkeys((plots, results))
    found = {path.name: path for folder in folders for path in sorted(folder.glob("visual-*.svg"))}
    if found:
        yield f"\n## {PICTURE} (Figure 6)\n\n`metatne reproduce visual`\n"
    for path in found.values():
        name = path.stem.removeprefix("visual-")
        yield f"![{PICTURE}, {name}]({os.path.relpath(path, beside)})\n"
