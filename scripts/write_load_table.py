"""Put the figures of results/service.json into docs/service.md: `make docs`.

They are measured by `python benchmarks/service.py --out results/service.json`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "service.json"
TARGET = ROOT / "docs" / "service.md"

_PART = re.compile(r"(<!-- load -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    report = json.loads(RESULTS.read_text(encoding="utf-8"))
    TARGET.write_text(page(TARGET.read_text(encoding="utf-8"), report), encoding="utf-8")


def page(text: str, report: dict[str, Any]) -> str:
    """The page with the figures of this report."""
    return _PART.sub(lambda found: f"{found[1]}{figures(report)}{found[2]}", text)


def figures(report: dict[str, Any]) -> str:
    """A table of requests, and what else was measured in sentences."""
    machine, memory, search = report["machine"], report["memory"], report["search"]
    lines = [
        f"{machine['cores']} cores ({machine['cpu']}), shared with the clients; "
        f"{machine['date'][:10]}, commit {machine['commit'][:7]}.",
        "",
        "| asked | clients | a second | p50 ms | p99 ms | told 503 | failed |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report["figures"]:
        numbers = (row["per_second"], row["p50_ms"], row["p99_ms"])
        cells = [row["ask"], row["clients"], *(f"{number:,.1f}" for number in numbers)]
        lines.append(f"| {' | '.join(map(str, [*cells, row['refused'], row['failed']]))} |")
    lines += [
        "",
        f"Memory after {memory['requests'] // 10:,} requests: {memory['early_mib']:,.0f} MiB, "
        f"after {memory['requests']:,}: {memory['late_mib']:,.0f} MiB. "
        f"The slowest search in {search['names']:,} names: {search['slowest_ms']:.0f} ms.",
        "",
    ]
    if "large" in report:
        large = report["large"]
        lines += [
            f"A ranking of {large['nodes']:,} nodes, with its progress streamed: "
            f"{large['cold_seconds']} s the first time, {large['new_seconds']} s for another "
            f"question (first progress after {large['new_first_progress_seconds']} s), "
            f"{large['one_more_seconds']} s with one example more; {large['resident_mib']:,} MiB.",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
