"""Put the figures of results/bench.json into docs/performance.md and its plots: `make docs`.

The prose of the page is written by hand. Between `<!-- name -->` and `<!-- end -->` stands what
this script writes, so that no figure on the page can be older than the file it comes from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from metatne.bench.arithmetic import factorised_operations, naive_operations
from metatne.bench.figure import Figure
from metatne.bench.registry import BENCHMARKS
from metatne.bench.running import figures_of
from metatne.bench.showing import cells, readable
from metatne.config import make_config, preset

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "bench.json"
TARGET = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "plots"

AXES = {
    "nodes": "nodes |V|",
    "edges": "edges |E|",
    "lines": "lines of the edge list",
    "supports": "supports of a task",
    "queries": "queries of a task",
    "dim": "d",
}
"""What cost is drawn against, by its name in a figure's case ("5 million nodes") or details."""

_PART = re.compile(r"(<!-- ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SIZE = re.compile(rf"([\d,.]+)( thousand| million|) ({'|'.join(AXES)})\b")
_SCALES = {"": 1, " thousand": 1e3, " million": 1e6}


def main() -> None:
    report = json.loads(RESULTS.read_text(encoding="utf-8"))
    TARGET.write_text(page(TARGET.read_text(encoding="utf-8"), report), encoding="utf-8")
    PLOTS.mkdir(exist_ok=True)
    for old in PLOTS.glob("*.svg"):
        old.unlink()
    for name, panels in all_panels(report).items():
        draw(panels, PLOTS / f"{name}.svg")


def page(text: str, report: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    parts = {
        "machine": _machine(report),
        "arithmetic": _arithmetic(report),
        "plots": "\n\n".join(
            f"![cost against {AXES[axis]}](plots/{axis}.svg)" for axis in all_panels(report)
        ),
    }
    parts |= {name: _table(name, report) for name in BENCHMARKS}
    return _PART.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n\n{found[3]}", text)


def _machine(report: dict[str, Any]) -> str:
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    hurried = " --quick" if report["quick"] else ""
    minutes = readable(report["seconds"] / 60, "minutes")
    return "\n".join(
        (
            f"- `metatne bench {report['bench']}{hurried}`, {machine['date'][:10]}, {minutes}",
            f"- {machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads, "
            f"{readable(machine['memory_bytes'], 'bytes')} of memory, {machine['system']}",
            f"- Python {machine['python']}, {versions}",
            f"- commit {machine['commit'] or 'unknown'}",
            f"- float32 matrix products reach {readable(machine['matmul_gflops'], 'GFLOP/s')}",
        )
    )


def _table(name: str, report: dict[str, Any]) -> str:
    figures = [figure for bench, figure in figures_of(report) if bench == name]
    seconds = report["seconds_by_bench"].get(name)
    command = f"`metatne bench {name}{' --quick' if report['quick'] else ''}`"
    lines = [f"{command}: not run." if seconds is None else f"{command}, {seconds:.0f} s:"]
    if figures:
        lines += ["", "| case | quantity | ours | plain way | ratio | goal | |"]
        lines += ["|---|---|---:|---:|---:|---:|---|"]
        lines += [f"| {' | '.join(cells(figure))} |" for figure in figures]
    for word in ("skipped", "failed"):
        for row in report[word]:
            if row["bench"] == name:
                lines += ["", f"{row.get('case', 'It')} {word}: {row['reason']}"]
    return "\n".join(lines)


def _arithmetic(report: dict[str, Any]) -> str:
    peak = report["machine"]["matmul_gflops"]
    lines = [
        "| meta step | naive, GFLOP | factorised, GFLOP | naive at the peak | factorised at it |",
        "|---|---:|---:|---:|---:|",
    ]
    for dataset, title in (("blogcatalog", "BlogCatalog"), ("ppi", "PPI")):
        config = make_config(preset("paper", dataset))
        for negatives in (20, 40):
            queries = config.positives + negatives
            naive, factorised = (
                3 * config.tasks_per_step * forward / 1e9
                for forward in (
                    sum(
                        naive_operations(config, shots=shots, queries=queries)
                        for shots in (config.positives, negatives)
                    ),
                    factorised_operations(
                        config, positives=config.positives, negatives=negatives, queries=queries
                    ),
                )
            )
            row = (
                f"{title} {config.positives}/{negatives}, {config.tasks_per_step} tasks",
                f"{naive:.0f}",
                f"{factorised:.0f}",
                readable(naive / peak, "s"),
                readable(factorised / peak, "s"),
            )
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


@dataclass(frozen=True)
class Point:
    """A figure at a size."""

    size: float
    ours: float
    plain: float | None


@dataclass(frozen=True)
class Panel:
    """How one quantity grows."""

    title: str
    axis: str
    unit: str
    points: tuple[Point, ...]


def all_panels(report: dict[str, Any]) -> dict[str, list[Panel]]:
    """The panels of each plot; a quantity measured at one size only has none."""
    series: dict[tuple[str, str, str], list[Point]] = defaultdict(list)
    for bench, figure in figures_of(report):
        for axis, size, rest in _sizes(figure):
            title = ", ".join(filter(None, (f"{bench}: {figure.quantity}", rest)))
            series[axis, title, figure.unit].append(Point(size, figure.value, figure.against))
    plots: dict[str, list[Panel]] = {}
    for (axis, title, unit), points in series.items():
        if len({point.size for point in points}) > 1:
            ordered = tuple(sorted(points, key=lambda point: point.size))
            plots.setdefault(axis, []).append(Panel(title, AXES[axis], unit, ordered))
    return plots


def _sizes(figure: Figure) -> list[tuple[str, float, str]]:
    """What grows, its size, and all else that the case says: that is the same along a line."""
    in_case = [
        (
            found[3],
            float(found[1].replace(",", "")) * _SCALES[found[2]],
            figure.case.replace(found[0], "").strip(" ,"),
        )
        for found in _SIZE.finditer(figure.case)
    ]
    return in_case or [
        (axis, float(figure.details[axis]), "") for axis in AXES if axis in figure.details
    ]


def fingerprint(panels: list[Panel]) -> str:
    """What a plot was made from, in 16 hex digits."""
    data = json.dumps([astuple(panel) for panel in panels])
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def draw(panels: list[Panel], path: Path) -> None:
    """Write the panels side by side, ours and the plain way, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    # The same figures give the same file: no date, no random names.
    with pyplot.rc_context({"svg.hashsalt": "metatne", "svg.fonttype": "none", "font.size": 8}):
        figure, grid = pyplot.subplots(
            rows, columns, figsize=(3.2 * columns, 2.6 * rows), squeeze=False, layout="constrained"
        )
        for place, panel in zip(grid.flat, panels, strict=False):
            _draw_panel(place, panel)
        for place in grid.flat[len(panels) :]:
            place.remove()
        figure.savefig(path, metadata={"Date": None, "Description": fingerprint(panels)})
        pyplot.close(figure)


def _draw_panel(place: Any, panel: Panel) -> None:
    ours = [(point.size, point.ours) for point in panel.points]
    plain = [(point.size, point.plain) for point in panel.points if point.plain is not None]
    place.plot(*zip(*ours, strict=True), "o-", label="ours")
    if plain:
        place.plot(*zip(*plain, strict=True), "s--", color="grey", label="plain way")
        place.legend(frameon=False)
    has_logarithm = all(value > 0 for _, value in ours + plain)
    place.set(xscale="log", yscale="log" if has_logarithm else "linear")
    place.set(xlabel=panel.axis, ylabel=panel.unit)
    place.set_title(panel.title, fontsize=8)
    place.grid(visible=True, which="major", alpha=0.3)


if __name__ == "__main__":
    main()
