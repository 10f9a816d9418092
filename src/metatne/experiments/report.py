"""RESULTS.md: finished trials as the paper's tables, our numbers beside the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metatne.evaluation.methods import METHODS, VARIANTS, check_method
from metatne.evaluation.paper import paper_ablation, paper_result
from metatne.evaluation.protocol import PAPER
from metatne.experiments.comparison import (
    FEWEST_TO_TEST,
    METRICS,
    OF_THE_PAPER,
    OURSELVES,
    Gain,
    Group,
    by_method,
    comparison,
    improvements,
    p_value,
    papers_improvements,
)
from metatne.experiments.series import OURS, Row, is_of_earlier_version
from metatne.experiments.studies import PAPER_DATASETS, STUDIES, Study
from metatne.graph.datasets import DATASETS
from metatne.sampling.tasks import TaskShape

NUM_TASKS = 1_000
"""Test tasks of a trial in the paper."""

LEARN_NOTHING = ("degree", "unlabelled")
"""Controls that score by one number of a node."""

SUMMARISED, SHOWN = ("overall", "fewer"), ("auc", "f1", "recall")
"""Studies and metrics of the summary."""


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

    def title(self, *, with_queries: bool) -> str:
        """What the table shows; how many queries a task has, where tables differ in that."""
        parts = [self.dataset, self.shots]
        if with_queries:
            parts.append(f"queries {self.query_positives}/{self.query_negatives}")
        if self.protocol != PAPER:
            parts.append(f"protocol {self.protocol}")
        if self.tasks != NUM_TASKS:
            parts.append(f"{self.tasks} tasks a trial")
        return ", ".join(parts)


def write_report(rows_by_study: dict[str, list[Row]]) -> str:
    """The whole page."""
    parts = [
        "# Results\n",
        "Made by `metatne report`; behind every number are lines, a trial each, that "
        "`metatne reproduce` wrote. Mean ± standard deviation over trials; *paper* is the paper's "
        "mean over its 50 trials. Which trials are averaged matters: methods with fewer trials "
        "than others compare only on the trials that they share, which is what *difference* "
        "does (*of it* is the difference as a share of the other's mean). *% improvement* is over "
        "the best of the paper's other methods that were run, by that metric, as in the paper's "
        "tables, each by the trials that it shares with ours (so many). All trials cut the same "
        "labels of one graph, so *p* is of a paired t-test that is corrected for what they share "
        f"(Nadeau and Bengio, 2003); fewer than {FEWEST_TO_TEST} trials have none. *Seconds* are "
        "the median trial's; embeddings that trials share (LINE, Node2vec, the features of GCN and "
        "Meta-GNN, NetMF in the ridge) were made in whichever trial came first, and so were "
        "trainings that the cells of a trial share (GCN's and Planetoid's, mostly at 10/20). *GB* "
        "is the most that the process held in any trial, with what trials before it in that "
        "process had left there. Lines "
        "come from machines whose speed differs by three times and more, and which had other work "
        "to do: seconds of two methods compare roughly at most; `metatne bench` measures.\n",
        "MetaTNE is told by its preset: `default` is the kernel ridge with a meta-learned prior "
        "and walks from the examples that this project ships; "
        "`paper` is the paper's network as published, hours a trial; `paper-small` differs from it "
        "in batches of 8 or 16 tasks instead of up to 128, in the queries of a training task (2 "
        "that hold the label and 10 that lack it; PPI as published, but 30 at most), in keeping an "
        "average of the weights (the last quarter of the steps makes up two thirds of it), in a "
        "ninth of the steps (PPI an eighth, Flickr a quarter), in a meta rate "
        "twice the published one (PPI) or a structural rate twice and a decay period half of it "
        "(the others), and in choosing the step every 500 steps by 300 validation tasks instead of "
        "every 200 by 1,000; it takes minutes; "
        "`short` and `brief` are that network from a spectral start that knows the known labels, "
        "for 500 and 1,000 steps, and `brief` decides at a line that validation tasks choose. "
        "Data sets called *planted* are synthetic; all they have of the real ones is their size.\n",
        "*Earlier version*: run before the method was last changed, and kept until it has been run "
        "again; LOG.md says what changed and by how much. Of a method that has both, each is a row "
        "of its own.\n",
        "In the protocol `unlabelled-queries` 40 % of the nodes have lost their known labels, and "
        "only these are asked about. Under the paper's, where nodes show all other labels they "
        "hold, much of any lead of a method that sees known labels is a leak: in BlogCatalog and "
        "PPI every node holds some label, so one without a known label is likelier to hold a novel "
        "one. *No known label* scores by that alone. Every method, V1 to V5 of the ablation too, "
        "is described in [docs/methods.md](docs/methods.md).\n",
    ]
    if summary := list(_summary(rows_by_study)):
        parts.append("## At a glance\n")
        parts.append("\n".join(summary) + "\n")
    for name, study in STUDIES.items():
        if rows := rows_by_study.get(name):
            parts.append(f"## {study.title} ({study.shows})\n")
            parts.append(f"`metatne reproduce {name}`\n")
            if study.note:
                parts.append(f"{study.note}\n")
            parts.extend(_tables(study, rows))
    if missing := list(_missing(rows_by_study)):
        parts.append("## Methods of the paper without a trial here\n")
        parts.append("\n".join(missing) + "\n")
    return "\n".join(parts)


def _summary(rows_by_study: dict[str, list[Row]]) -> Iterator[str]:
    """A line for each cell of the tables of novel labels: ours, the paper's, and the best other.

    Of ours the preset `default`, with the settings of the newest trial; of the others the method
    that comes nearest to it on the trials that both have, of six or more if any has so many.
    """
    cells: dict[Cell, list[Row]] = {}
    for name in SUMMARISED:
        for row in rows_by_study.get(name, []):
            cells.setdefault(Cell.of(row), []).append(row)
    lines = []
    for cell, rows in cells.items():
        groups = list(by_method(rows))
        ours = [
            row
            for row in rows
            if (row["method"], row["preset"]) == (OURS, "default")
            and not is_of_earlier_version(row)
        ]
        if not ours:
            continue
        ours = [row for row in ours if row["config_hash"] == ours[-1]["config_hash"]]
        means = [statistics.mean(row[metric] for row in ours) for metric in SHOWN]
        paper = _paper(cell, OURS)
        others = [(name, trials) for method, name, trials in groups if method not in OURSELVES]
        if all(method in {*OURSELVES, *LEARN_NOTHING} for method, _, _ in groups):
            others = []  # a lead over these alone would say little
        lines.append(
            [
                cell.title(with_queries=False),
                str(len(ours)),
                _joined(means),
                _joined([paper[metric] for metric in SHOWN]) if paper else "",
                *_best_other(ours, others),
            ]
        )
    if not lines:
        return
    names = ", ".join(METRICS[metric] for metric in SHOWN)
    yield f"MetaTNE's preset `default`, {names}; *lead* is in AUC, on the trials that both have.\n"
    yield "| | trials | default | MetaTNE in the paper | best other method | its AUC | lead | p |"
    yield "|---|---|---|---|---|---|---|---|"
    for line in lines:
        yield f"| {' | '.join(line)} |"


def _joined(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.4f}" for value in values)


def _best_other(
    ours: Sequence[Row], others: Sequence[tuple[str, list[Row]]]
) -> tuple[str, str, str, str]:
    """Name, AUC, our lead and its p of the best of them on the trials of ours."""
    by_trial = {row["trial"]: row["auc"] for row in ours}
    found = []
    for name, trials in others:
        shared = [row for row in trials if row["trial"] in by_trial]
        if shared:
            gaps = [by_trial[row["trial"]] - row["auc"] for row in shared]
            theirs = statistics.mean(row["auc"] for row in shared)
            found.append((statistics.mean(gaps), name, theirs, gaps))
    if not found:
        return "", "", "", ""
    many = [each for each in found if len(each[3]) >= FEWEST_TO_TEST]
    lead, name, theirs, gaps = min(many or found)
    return f"{name} ({len(gaps)})", f"{theirs:.4f}", f"{lead:+.4f}", p_value(gaps)


def _missing(rows_by_study: dict[str, list[Row]]) -> Iterator[str]:
    """A line for each data set and number of shots of the paper that lacks methods of the paper.

    Of studies without any trial nothing is said.
    """
    here = {row["dataset"] for rows in rows_by_study.values() for row in rows}
    of_paper_here = here.intersection(PAPER_DATASETS)
    for dataset in PAPER_DATASETS:
        if of_paper_here and dataset not in here:
            yield f"- {dataset}: no trial at all"
    for study in STUDIES.values():
        if not (rows := rows_by_study.get(study.name, [])):
            continue
        of_paper = [name for name in study.methods if _is_in_paper(name)]
        has_run = {
            (row["dataset"], Cell.of(row).shape, row["method"])
            for row in rows
            if row["protocol"] == PAPER
        }
        for dataset in (name for name in study.datasets if name in here):
            lacking: dict[str, dict[str, None]] = {}
            for settings in study.cells():
                shots = f"{settings.positives}/{settings.negatives}"
                for method in of_paper:
                    if (dataset, settings.shape, method) not in has_run:
                        lacking.setdefault(shots, {})[method] = None
            for shots, methods in lacking.items():
                whose = "all methods" if len(methods) == len(of_paper) else ", ".join(methods)
                yield f"- `{study.name}`, {dataset} {shots}: {whose}"


def _is_in_paper(method: str) -> bool:
    # That of the paper is MetaTNE with a preset, and no further method of the paper.
    return check_method(method).is_in_paper and method != OF_THE_PAPER


def _tables(study: Study, rows: Sequence[Row]) -> Iterator[str]:
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault(Cell.of(row), []).append(row)
    order = {dataset: place for place, dataset in enumerate(study.datasets)}

    def rank(cell: Cell) -> tuple[Any, ...]:
        place = order.get(cell.dataset, len(order))
        return cell.protocol, place, cell.positives, cell.negatives, *_queries(cell)

    varies = any(_queries(cell) != (cell.positives, cell.negatives) for cell in cells)
    for cell in sorted(cells, key=rank):
        yield f"### {cell.title(with_queries=varies)}\n"
        yield _table(cell, cells[cell], with_improvements=study.name in SUMMARISED)
        yield from _kept_starts(cells[cell])
        for metric in study.compared:
            yield comparison(cells[cell], metric, preset=study.preset)


def _queries(cell: Cell) -> tuple[int, int]:
    return cell.query_positives, cell.query_negatives


def _table(cell: Cell, rows: Sequence[Row], *, with_improvements: bool) -> str:
    groups = list(by_method(rows))
    papers = {method: _paper(cell, method) for method, _, _ in groups}
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
        cells.append(f"{statistics.median(row['seconds'] for row in trials):.1f}")
        cells.append(f"{max(row['memory_gb'] for row in trials):.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    if with_improvements:
        lines += _improvement_lines(cell, groups, in_paper)
    return "\n".join(lines) + "\n"


def _improvement_lines(cell: Cell, groups: Sequence[Group], in_paper: set[str]) -> Iterator[str]:
    """As the last line of the paper's tables, for each of ourselves."""
    key = _paper_key(cell)
    papers = papers_improvements(key, cell.positives, cell.negatives) if key else {}
    for name, gains in improvements(groups):
        cells = [f"% improvement of {name}", ""]
        for metric in METRICS:
            columns = [gains] + ([papers] if metric in in_paper else [])
            cells += [_told_gain(found[metric]) if metric in found else "" for found in columns]
        yield f"| {' | '.join([*cells, '', ''])} |"


def _told_gain(gain: Gain) -> str:
    percent, over = gain
    return f"{percent:+.1f} over {over}"


def _kept_starts(rows: Sequence[Row]) -> Iterator[str]:
    """Who was no better after any step of training than before the first, and how often."""
    for _, name, trials in by_method(rows):
        kept = sum(row.get("best_step") == 0 for row in trials)
        if kept:
            yield (
                f"In {kept} of its {len(trials)} trials validation tasks liked the start of {name} "
                "best, before any step.\n"
            )


def _paper(cell: Cell, method: str) -> dict[str, float]:
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
