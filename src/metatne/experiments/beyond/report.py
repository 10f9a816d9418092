"""What the studies beyond the paper found, as tables and curves."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from metatne.evidence.head import VERSION
from metatne.experiments.beyond.catalogue import STUDIES, BeyondStudy, Row
from metatne.experiments.comparison import FEWEST_TO_TEST, METRICS, p_value
from metatne.experiments.plots import draw_curves

MEASURES = METRICS | {
    "num_labels": "labels",
    "of_holders": "probabilities to holders",
    "calibration_error": "calibration error",
    "covered": "covered",
}

Values = dict[tuple[str, float | None], dict[int, dict[str, float]]]
"""By series and place along the axis, then by trial: metrics."""


def write_beyond(rows: Sequence[Row], plots: Path, beside: Path) -> str:
    """The sections of the page, and their pictures drawn."""
    parts: list[str] = []
    for name, study in STUDIES.items():
        of_study = _of_one_setting([row for row in rows if row["study"] == name])
        if not of_study:
            continue
        if not parts:
            parts.append(
                "In what follows, *difference* is of a line to the first one at the same place (of "
                "what is taken for lacks, to the same left unknown), on the trials that both have; "
                f"fewer than {FEWEST_TO_TEST} trials have no p.\n"
            )
        parts.append(f"## Beyond the paper: {study.title}\n\n`metatne beyond {name}`\n")
        if study.note:
            parts.append(f"{study.note}\n")
        for dataset in dict.fromkeys(row["dataset"] for row in of_study):
            trials = [row for row in of_study if row["dataset"] == dataset]
            values = _values(trials)
            parts.append(f"### {dataset}\n")
            if any(row.get("head_version") != VERSION for row in trials):
                parts.append("Run with an earlier head than the one that is shipped.\n")
            parts.append("\n".join(_table(study, values)) + "\n")
            if study.along and study.metric and len({at for _, at in values}) > 1:
                path = plots / f"beyond-{name}-{dataset}.svg"
                curves = _curves(values, study.metric)
                draw_curves(curves, study.along, MEASURES[study.metric], path)
                parts.append(
                    f"![{study.title}, {dataset}]({quote(os.path.relpath(path, beside))})\n"
                )
    return "\n" + "\n".join(parts) if parts else ""


def _of_one_setting(rows: Sequence[Row]) -> list[Row]:
    """Those of the last settings of each data set: others are no trials of the same model."""
    last = {row["dataset"]: row["config_hash"] for row in rows}
    return [row for row in rows if row["config_hash"] == last[row["dataset"]]]


def _values(rows: Sequence[Row]) -> Values:
    values: Values = {}
    for row in rows:
        for case in row["cases"]:
            metrics = {name: case[name] for name in MEASURES if name in case}
            values.setdefault((case["series"], case["at"]), {})[row["trial"]] = metrics
    return values


def _table(study: BeyondStudy, values: Values) -> Iterator[str]:
    """A line for every case; *difference* is to another series at the same place, paired."""
    shown = [
        name for name in MEASURES if any(name in m for of in values.values() for m in of.values())
    ]
    head = ["", *([study.along] if study.along else []), "trials", *(MEASURES[m] for m in shown)]
    if study.metric:
        head += ["difference", "p (corrected t)"]
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for (series, at), by_trial in values.items():
        cells = [series, *([f"{at:g}"] if study.along and at is not None else [])]
        cells += [str(len(by_trial))]
        cells += [_mean_of(name, by_trial.values()) for name in shown]
        if study.metric:
            cells += _difference(study, values, series, at, study.metric)
        yield f"| {' | '.join(cells)} |"


def _mean_of(name: str, trials: Iterable[Mapping[str, float]]) -> str:
    mean = statistics.mean(metrics[name] for metrics in trials)
    return f"{mean:.1f}" if name.startswith("num_") else f"{mean:.4f}"


def _difference(
    study: BeyondStudy, values: Values, series: str, at: float | None, metric: str
) -> tuple[str, str]:
    other: str | None = next(name for name, place in values if place == at)
    if study.compared:
        other = study.compared.get(series)
    if other in (None, series):
        return "", ""
    ours, theirs = values[series, at], values[other, at]
    gaps = [ours[trial][metric] - theirs[trial][metric] for trial in ours]
    return f"{statistics.mean(gaps):+.4f}", p_value(gaps)


def _curves(values: Values, metric: str) -> dict[str, dict[float, list[float]]]:
    curves: dict[str, dict[float, list[float]]] = {}
    for (series, at), by_trial in values.items():
        if at is not None:
            of_case = [metrics[metric] for metrics in by_trial.values()]
            curves.setdefault(series, {})[at] = of_case
    return curves
