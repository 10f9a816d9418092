"""The part of RESULTS.md on studies that are run once: data sets, the search, the picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metatne.errors import InputError
from metatne.experiments.search_space import (
    KEY,
    SEARCH_FILE,
    SPACE,
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
    num_drawn = max(1, len(found) - len(tried))
    yield (
        f"\n## The search for hyper-parameters (Table 4), {best['dataset']}, trial "
        f"{best['trial']}\n\n`metatne reproduce search --dataset {best['dataset']} --trials "
        f"{best['trial']} --steps {best['num_steps']} --samples {num_drawn}`\n\n"
        f"Points of the paper's space that were tried: {len(found)}, "
        f"{'with' if tried else 'without'} the published one; {best['num_steps']:,} steps at most "
        f"(asynchronous HyperBand ends most sooner), {best['validation_tasks']:,} validation "
        "tasks. The published settings were found with 40,000 steps.\n"
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


def _pictures(results: Path, plots: Path, beside: Path) -> Iterator[str]:
    folders = dict.fromkeys((plots, results))
    found = {path.name: path for folder in folders for path in sorted(folder.glob("visual-*.svg"))}
    if found:
        yield f"\n## {PICTURE} (Figure 6)\n\n`metatne reproduce visual`\n"
    for path in found.values():
        name = path.stem.removeprefix("visual-")
        yield f"![{PICTURE}, {name}]({os.path.relpath(path, beside)})\n"
