"""The part of RESULTS.md on studies that are run once: data sets, the search, the picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metatne.errors import InputError
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
    for path in (results / DATASETS_FILE, *sorted(results.glob("search-*.json"))):
        show = _datasets if path.name == DATASETS_FILE else _search
        if path.exists():
            try:
                facts = parse_json(path.read_text(encoding="utf-8"))
                parts += list(show(facts))
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{path}: expected what `metatne reproduce` writes there, found something "
                    "else; take it away, or run the study again"
                ) from error
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


def _search(facts: Any) -> Iterator[str]:
    best = facts["found"][0]
    yield (
        f"\n## The search for hyper-parameters (Table 4), {facts['dataset']}, trial "
        f"{facts['trial']}\n\n`metatne reproduce search`\n\n"
        f"{facts['samples']} points of the paper's space, "
        f"{facts['steps']:,} steps at most (asynchronous HyperBand ends most sooner); the best on "
        f"validation tasks has AUC {best['auc']:.4f} and F1 {best['f1']:.4f} after "
        f"{best['step']:,} steps. The published settings were found with 40,000 steps.\n"
    )
    yield "| setting | best found | published |\n|---|---|---|"
    for name, value in best["point"].items():
        yield f"| `{name}` | {value} | {facts['published'][name]} |"
    yield ""


def _pictures(results: Path, plots: Path, beside: Path) -> Iterator[str]:
    folders = dict.fromkeys((plots, results))
    found = {path.name: path for folder in folders for path in sorted(folder.glob("visual-*.svg"))}
    if found:
        yield f"\n## {PICTURE} (Figure 6)\n\n`metatne reproduce visual`\n"
    for path in found.values():
        name = path.stem.removeprefix("visual-")
        yield f"![{PICTURE}, {name}]({os.path.relpath(path, beside)})\n"
