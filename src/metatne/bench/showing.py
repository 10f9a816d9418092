"""Figures as a person reads them."""

from __future__ import annotations

from metatne.bench.figure import Figure

HEADINGS = ("case", "quantity", "value", "against", "ratio", "goal", "")
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def cells(figure: Figure) -> tuple[str, ...]:
    """A row of a table under `HEADINGS`; what does not apply is empty."""
    return (
        figure.case,
        figure.quantity,
        readable(figure.value, figure.unit),
        "" if figure.against is None else readable(figure.against, figure.unit),
        "" if figure.ratio is None else times(figure.ratio),
        _goal(figure),
        {None: "", True: "met", False: "MISSED"}[figure.is_met],
    )


def readable(value: float, unit: str) -> str:
    """A number of three or more digits with its unit; bytes as MiB and the like."""
    if unit == "bytes":
        for size, name in _BYTES:
            if value >= size:
                return f"{_number(value / size)} {name}"
    return f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{_number(value / 1e6)} million"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(ratio: float) -> str:
    """So many times better."""
    return f"{_number(ratio)} ×"


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    if figure.judged == "ratio at least":
        return f"≥ {times(figure.goal)}"
    sign = "≤" if figure.judged == "value at most" else "≥"
    return f"{sign} {readable(figure.goal, figure.unit)}"
