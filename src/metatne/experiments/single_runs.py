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
    return "\n".join([*_datasets(results), *_searches(results), *_pictures(results, plots, beside)])


def _datasets(results: Path) -> Iterator[str]:
    path = results / DATASETS_FILE
    if not path.exists():
        return
    yield "\n## The data sets (Table 1)\n\n`metatne reproduce datasets`\n"
    titles = [f"{count} | paper" for count in COUNTS]
    yield f"| | {' | '.join(titles)} | |"
    yield f"|{'---|' * (2 + 2 * len(COUNTS))}"
    for row in _read(path, "datasets"):
        cells = [f"{row[count]:,} | {_published(row, count)}" for count in COUNTS]
        yield f"| {row['dataset']} | {' | '.join(cells)} | {row['note']} |"
    yield ""


def _published(row: Row, count: str) -> str:
    value = row["published"].get(count)
    return "" if value is None else f"{value:,}"


def _searches(results: Path) -> Iterator[str]:
    paths = sorted(results.glob("search-*.json"))
    if not paths:
        return
    yield "\n## The search for hyper-parameters (Table 4)\n\n`metatne reproduce search`\n"
    for path in paths:
        facts = _read(path)
        best = facts["found"][0]
        yield (
            f"### {facts['dataset']}, trial {facts['trial']}\n\n{facts['samples']} points of the "
            f"paper's space, {facts['steps']:,} steps at most (asynchronous HyperBand ends most "
            f"sooner); the best on validation tasks has AUC {best['auc']:.4f} and F1 "
            f"{best['f1']:.4f} after {best['step']:,} steps. The published settings were found "
            "with 40,000 steps.\n"
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


def _read(path: Path, key: str | None = None) -> Any:
    """What a study left there, as it was written."""
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
        return found if key is None else found[key]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: expected what `metatne reproduce` writes there, found something else "
            f"({error}); take it away, or run the study again"
        ) from error
