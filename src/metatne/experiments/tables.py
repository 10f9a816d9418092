"""The tables of RESULTS.md: a study's finished trials by cell and method."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metatne.evaluation.methods import METHODS, VARIANTS
from metatne.evaluation.paper import paper_ablation, paper_result
from metatne.evaluation.protocol import PAPER
from metatne.experiments.comparison import (
    FEWEST_TO_TEST,
    LEARN_NOTHING,
    METRICS,
    OURSELVES,
    Gain,
    Group,
    by_method,
    comparison,
    improvements,
    our_trials,
    papers_improvements,
)
from metatne.experiments.series import OURS, Row
from metatne.experiments.studies import Study
from metatne.graph.datasets import DATASETS
from metatne.sampling.tasks import TaskShape

NUM_TASKS = 1_000
"""Test tasks of a trial in the paper."""

SUMMARISED = ("overall", "fewer")
"""Studies whose tables end, as the paper's, with what MetaTNE improves."""

LEAD = "MetaTNE's lead in AUC"


@dataclass(frozen=True)
class Cell:
    """Trials that belong to one table, but for the method."""

    dataset: str
    positives: int
    negatives: int
    query_positives: int
    query_negatives: int
    protocol: str
    tasks: int

    @classmethod
    def of(cls, row: Row) -> Cell:
        """The cell of a finished trial."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    @property
    def shape(self) -> TaskShape:
        """The shape of its tasks."""
        return TaskShape(self.positives, self.negatives, self.query_positives, self.query_negatives)

    @property
    def shots(self) -> str:
        """K+/K- as the paper writes them."""
        return f"{self.positives}/{self.negatives}"

    @property
    def query_shots(self) -> str:
        """The same of a test task's queries."""
        return f"{self.query_positives}/{self.query_negatives}"

    def title(self, *, with_queries: bool) -> str:
        """What the table shows; how many queries a task has, where tables differ in that."""
        queries = [f"queries {self.query_shots}"] if with_queries else []
        return ", ".join([self.dataset, self.shots, *queries, *self._circumstances()])

    def title_without_shots(self) -> str:
        """What a table shows in which examples and queries vary."""
        return ", ".join([self.dataset, *self._circumstances()])

    def _circumstances(self) -> Iterator[str]:
        """Whatever is not as in the paper."""
        if self.protocol != PAPER:
            yield f"protocol {self.protocol}"
        if self.tasks != NUM_TASKS:
            yield f"{self.tasks} tasks a trial"


def tables_of(study: Study, rows: Sequence[Row]) -> Iterator[str]:
    """A table for each cell, with the paper's numbers, and comparisons below it."""
    cells = by_cell(rows, study)
    varies = vary_in_queries(cells)
    for cell, trials in cells.items():
        yield f"### {cell.title(with_queries=varies)}\n"
        yield _table(cell, trials, with_improvements=study.name in SUMMARISED)
        yield from _kept_starts(trials)
        if study.name in SUMMARISED:
            yield from _ease_of_few_trials(trials)
        for metric in study.compared:
            yield comparison(trials, metric, preset=study.preset)


def tables_of_curves(study: Study, rows: Sequence[Row]) -> Iterator[str]:
    """A table for each graph and protocol, in which the points of all curves stand."""
    cells = by_cell(rows, study)
    varies = vary_in_queries(cells)
    pages: dict[str, list[str]] = {}
    for cell, trials in cells.items():
        title = cell.title_without_shots()
        shots = cell.shots + (f", queries {cell.query_shots}" if varies else "")
        pages.setdefault(title, []).extend(_points(shots, trials, study.preset))
    titles = ["examples", "method", "trials", *METRICS.values(), "seconds", "GB", LEAD]
    for title, lines in pages.items():
        yield f"### {title}\n"
        yield "\n".join([f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *lines]) + "\n"


def _points(shots: str, rows: Sequence[Row], preset: str) -> Iterator[str]:
    """A line for each method; of others than ours also how far ours leads it."""
    by_trial = {row["trial"]: row["auc"] for row in our_trials(rows, preset)}
    for method, name, trials in by_method(rows):
        gaps = [by_trial[row["trial"]] - row["auc"] for row in trials if row["trial"] in by_trial]
        lead = f"{statistics.mean(gaps):+.4f}" if gaps and method != OURS else ""
        means = [_mean_std([row[metric] for row in trials]) for metric in METRICS]
        cells = [shots, name, str(len(trials)), *means, *_costs(trials), lead]
        yield f"| {' | '.join(cells)} |"


def by_cell(rows: Sequence[Row], study: Study) -> dict[Cell, list[Row]]:
    """In the order in which the page has them."""
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault(Cell.of(row), []).append(row)
    order = {dataset: place for place, dataset in enumerate(study.datasets)}

    def rank(cell: Cell) -> tuple[Any, ...]:
        place = order.get(cell.dataset, len(order))
        return cell.protocol, place, cell.positives, cell.negatives, *_queries(cell)

    return {cell: cells[cell] for cell in sorted(cells, key=rank)}


def vary_in_queries(cells: Iterable[Cell]) -> bool:
    """Whether a table's title has to say how many queries a task has."""
    return any(_queries(cell) != (cell.positives, cell.negatives) for cell in cells)


def _queries(cell: Cell) -> tuple[int, int]:
    return cell.query_positives, cell.query_negatives


def _table(cell: Cell, rows: Sequence[Row], *, with_improvements: bool) -> str:
    groups = list(by_method(rows))
    papers = {method: papers_means(cell, method) for method, _, _ in groups}
    in_paper = {metric for paper in papers.values() for metric in paper}
    titles = ["method", "trials"]
    for metric, title in METRICS.items():
        titles += [title, "paper"] if metric in in_paper else [title]
    titles += ["seconds", "GB"]
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for method, name, trials in groups:
        paper = papers[method]
        cells = [name, str(len(trials))]
        for metric in METRICS:
            cells.append(_mean_std([row[metric] for row in trials]))
            if metric in in_paper:
                cells.append(f"{paper[metric]:.4f}" if metric in paper else "")
        cells += _costs(trials)
        lines.append(f"| {' | '.join(cells)} |")
    if with_improvements:
        lines += _improvement_lines(cell, groups, in_paper)
    return "\n".join(lines) + "\n"


def _costs(trials: Sequence[Row]) -> tuple[str, str]:
    """Seconds and GB."""
    seconds = statistics.median(row["seconds"] for row in trials)
    return f"{seconds:.1f}", f"{max(row['memory_gb'] for row in trials):.2f}"


def _improvement_lines(cell: Cell, groups: Sequence[Group], in_paper: set[str]) -> Iterator[str]:
    """As the last line of the paper's tables, for each of ourselves."""
    key = _paper_key(cell)
    papers = papers_improvements(key, cell.positives, cell.negatives) if key else {}
    for name, gains, lacking in improvements(groups):
        without = f" (without {', '.join(lacking)})" if lacking else ""
        cells = [f"% improvement of {name}{without}", ""]
        for metric in METRICS:
            columns = [gains] + ([papers] if metric in in_paper else [])
            cells += [_told_gain(found[metric]) if metric in found else "" for found in columns]
        yield f"| {' | '.join([*cells, '', ''])} |"


def _told_gain(gain: Gain) -> str:
    percent, over = gain
    return f"{percent:+.1f} over {over}"


def _kept_starts(rows: Sequence[Row]) -> Iterator[str]:
    """Who was no better after any step of training than before the first, and how often."""
    for method, name, trials in by_method(rows):
        steps = [row["best_step"] for row in trials if row.get("best_step") is not None]
        kept = steps.count(0)
        before = "by walks alone" if method == "planetoid" else "before any step"
        if kept:
            yield (
                f"In {kept} of its {len(steps)} trials validation tasks liked the start of {name} "
                f"best, {before}.\n"
            )


def _ease_of_few_trials(rows: Sequence[Row]) -> Iterator[str]:
    """How much easier than all trials those are that some methods are limited to."""
    groups = list(by_method(rows))
    others = {
        name: {row["trial"]: row["auc"] for row in trials}
        for method, name, trials in groups
        if method not in {*OURSELVES, *LEARN_NOTHING}
    }
    every = max((aucs.keys() for aucs in others.values()), key=len, default=set[int]())
    steady = {name: aucs for name, aucs in others.items() if aucs.keys() == every}
    few: dict[frozenset[int], list[str]] = {}
    for _, name, trials in groups:
        those = frozenset(row["trial"] for row in trials)
        if len(those) >= FEWEST_TO_TEST and those < every:
            few.setdefault(those, []).append(name)
    for those, names in few.items():
        ease = statistics.mean(
            statistics.mean(auc[trial] for trial in those) - statistics.mean(auc.values())
            for auc in steady.values()
        )
        yield (
            f"How easy the {len(those)} trials of {', '.join(names)} are: on them the AUC of "
            f"{', '.join(steady)} is {abs(ease):.4f} {'above' if ease > 0 else 'below'} what it is "
            f"on all {len(every)}.\n"
        )


def papers_means(cell: Cell, method: str) -> dict[str, float]:
    """The paper's means, where it has the cell."""
    key = _paper_key(cell)
    if method in VARIANTS:
        value = paper_ablation(key, cell.shots, VARIANTS[method].title)
        return {} if value is None else {"f1": value}
    found = paper_result(key, cell.positives, cell.negatives, METHODS[method].paper_title)
    return {} if found is None else {name: value["mean"] for name, value in found.items()}


def _paper_key(cell: Cell) -> str | None:
    """What the paper calls the data set, where it may have the cell."""
    if cell.protocol != PAPER or _queries(cell) != (cell.positives, cell.negatives):
        return None
    return DATASETS[cell.dataset].paper_key if cell.dataset in DATASETS else None


def _mean_std(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}"
