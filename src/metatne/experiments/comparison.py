"""Methods held against each other on the trials that they share, as the paper's tables do."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from scipy import stats

from metatne.evaluation.methods import METHODS, VARIANTS, check_method
from metatne.evaluation.paper import paper_result
from metatne.experiments.series import OURS, Row, is_of_earlier_version, series_name

METRICS = {"auc": "AUC", "f1": "F1", "recall": "recall", "average_precision": "AP"}

OF_THE_PAPER = "metatne-paper"
OURSELVES = (OURS, OF_THE_PAPER)

LEARN_NOTHING = ("degree", "unlabelled")
"""Controls that score by one number of a node."""

BASELINES_OF_THE_PAPER = tuple(
    name for name, entry in METHODS.items() if entry.is_in_paper and name not in OURSELVES
)

IMPROVED = ("auc", "f1", "recall")
"""Metrics of which the paper's tables say what MetaTNE improves."""

Group = tuple[str, str, list[Row]]
"""A method, its name in a table, and its trials."""

FEWEST_TO_TEST = 6
"""Trials: of fewer, a test says next to nothing."""

TEST_TO_OTHERS = 0.2 / 0.8
"""Labels of a trial's test to those that it learns from and chooses by."""


def by_method(rows: Sequence[Row]) -> Iterator[Group]:
    """Method, its name in a table, and its trials, in the paper's order."""
    known = METHODS | VARIANTS
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        check_method(row["method"])
        groups.setdefault((row["method"], row["preset"], row["config_hash"]), []).append(row)
    order = {method: place for place, method in enumerate(known)}
    for key in sorted(groups, key=lambda key: (order[key[0]], key[1], key[2])):
        method, _, config_hash = key
        name = series_name(groups[key][0])
        same = sum(series_name(rows[0]) == name for rows in groups.values())
        if same > 1:  # the same method with other settings, or before it was changed
            version = groups[key][0].get("version", 1)
            name += f" {config_hash[:6]}" + (f", version {version}" if version > 1 else "")
        yield method, name, sorted(groups[key], key=lambda row: row["trial"])


def our_trials(rows: Sequence[Row], preset: str) -> list[Row]:
    """MetaTNE with this preset as it is shipped, with the settings of the newest trial."""
    ours = [
        row
        for row in rows
        if (row["method"], row["preset"]) == (OURS, preset) and not is_of_earlier_version(row)
    ]
    return [row for row in ours if row["config_hash"] == ours[-1]["config_hash"]]


def comparison(rows: Sequence[Row], metric: str, *, preset: str) -> str:
    """MetaTNE, and that of the paper, against every other method on the trials that both have.

    MetaTNE with the preset that the study is about; where that has no trial, with each that has.
    V1 to V5 are MetaTNE of some preset, each with one part otherwise: they are held against it,
    and presets not against each other where there are such.
    """
    groups = list(by_method(rows))
    ours = [group for group in groups if group[0] == OURS]
    varied = {trials[0]["preset"] for method, _, trials in groups if method in VARIANTS}
    of_study = [group for group in ours if group[2][0]["preset"] in (varied or {preset})]
    of_paper = [group for group in groups if group[0] == OF_THE_PAPER]
    tables = []
    for group in [*(of_study or ours), *of_paper]:
        lines = list(_against(group, list(_rivals(group, groups)), metric))
        if lines:
            tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def _rivals(group: Group, groups: Sequence[Group]) -> Iterator[Group]:
    """Whom one of ourselves is held against."""
    method, name, trials = group
    has_variants = any(rival[0] in VARIANTS for rival in groups)
    for rival in groups:
        is_of_another_preset = (
            rival[0] in VARIANTS or (rival[0] == OURS and has_variants)
        ) and rival[2][0]["preset"] != trials[0]["preset"]
        is_told_already = method == OF_THE_PAPER and rival[0] in OURSELVES
        if rival[1] != name and not is_of_another_preset and not is_told_already:
            yield rival


def _against(group: Group, rivals: Iterable[Group], metric: str) -> Iterator[str]:
    _, name, ours = group
    by_trial = {row["trial"]: row[metric] for row in ours}
    compared = []
    for _, other, trials in rivals:
        shared = [row for row in trials if row["trial"] in by_trial]
        if shared:
            gaps = [by_trial[row["trial"]] - row[metric] for row in shared]
            compared.append((statistics.mean(gaps), other, gaps, shared))
    if not compared:
        return
    yield f"{name} less each other method on the trials that both have, {METRICS[metric]}:\n"
    yield "| method | shared trials | difference | of it, % | p (corrected t) |"
    yield "|---|---|---|---|---|"
    for mean, other, gaps, shared in sorted(compared, key=lambda each: each[0]):
        base = statistics.mean(row[metric] for row in shared)
        share = f"{100 * mean / base:+.1f}" if base else ""
        yield f"| {other} | {len(gaps)} | {mean:+.4f} | {share} | {p_value(gaps)} |"


Gain = tuple[float, str]
"""In %, and over whom, with the number of trials."""


def improvements(groups: Sequence[Group]) -> Iterator[tuple[str, dict[str, Gain], list[str]]]:
    """What each of ourselves gains over the best baseline of the paper, in % of it, by metric.

    Each baseline, as it is today, counts by the trials that both have, however few (that is told);
    the best is the one gained least on. Last come the baselines that share no trial.
    """
    todays = {
        method: (title, trials)
        for method, title, trials in groups
        if method in BASELINES_OF_THE_PAPER and not is_of_earlier_version(trials[0])
    }
    for method, name, ours in groups:
        if method not in OURSELVES:
            continue
        by_trial = {row["trial"]: row for row in ours}
        found: dict[str, list[Gain]] = {metric: [] for metric in IMPROVED}
        lacking = []
        for baseline in BASELINES_OF_THE_PAPER:
            title, trials = todays.get(baseline, (METHODS[baseline].title, []))
            shared = [row for row in trials if row["trial"] in by_trial]
            if not shared:
                lacking.append(title)
            for metric, gains in found.items():
                theirs = sum(row[metric] for row in shared)
                if theirs:
                    total = sum(by_trial[row["trial"]][metric] for row in shared)
                    gains.append((100 * (total / theirs - 1), f"{title} ({len(shared)})"))
        if best := {metric: min(gains) for metric, gains in found.items() if gains}:
            yield name, best, lacking


def papers_improvements(paper_name: str | None, positives: int, negatives: int) -> dict[str, Gain]:
    """The same of the paper's own numbers, where it has them."""
    cells = {
        entry.paper_title: paper_result(paper_name, positives, negatives, entry.paper_title)
        for entry in METHODS.values()
        if entry.is_in_paper
    }
    ours = cells.pop(METHODS[OURS].paper_title)
    baselines = {title: cell for title, cell in cells.items() if cell is not None}
    if ours is None or not baselines:
        return {}
    return {
        metric: min(
            (100 * (ours[metric]["mean"] / cell[metric]["mean"] - 1), title)
            for title, cell in baselines.items()
        )
        for metric in IMPROVED
    }


def p_value(gaps: Sequence[float]) -> str:
    """Of the paired t over trials that share labels; none of so few that it could say nothing.

    The trials of a data set cut the same labels again and again, so that their gaps are not
    independent, and an ordinary t-test would be far too sure. The variance of the mean is taken
    to be larger by the share of test labels to all others (Nadeau and Bengio, 2003).
    """
    if len(gaps) < FEWEST_TO_TEST or len(set(gaps)) == 1:
        return ""
    variance = statistics.variance(gaps) * (1 / len(gaps) + TEST_TO_OTHERS)
    t = statistics.mean(gaps) / math.sqrt(variance)
    return f"{2 * stats.t.sf(abs(t), len(gaps) - 1):.2g}"
