"""RESULTS.md: finished trials as the paper's tables, our numbers beside the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from metatne.evaluation.methods import check_method
from metatne.evaluation.protocol import PAPER
from metatne.experiments.comparison import (
    FEWEST_TO_TEST,
    LEARN_NOTHING,
    METRICS,
    OURSELVES,
    Group,
    by_method,
    our_trials,
    p_value,
)
from metatne.experiments.plots import FIGURES
from metatne.experiments.series import OURS, Row, is_of_earlier_version
from metatne.experiments.studies import PAPER_DATASETS, STUDIES
from metatne.experiments.tables import (
    SUMMARISED,
    Cell,
    by_cell,
    papers_means,
    tables_of,
    tables_of_curves,
    vary_in_queries,
)

SHOWN = ("auc", "f1", "recall")
"""Metrics of the summary."""

READING = (
    "- Mean ± standard deviation over trials; *paper* is the paper's mean over its 50 trials.",
    "- Which trials are averaged matters: methods with fewer trials than others compare only on "
    "the trials that they share, which is what *difference* and *lead* do (*of it* is the "
    "difference as a share of the other's mean). The paper's column is of 50 trials: how easy "
    "those are that some methods are limited to is said below a table, where methods with more "
    "trials can tell.",
    "- *% improvement* is over the best of the paper's other methods that were run, by that "
    "metric, as in the paper's tables, each by the trials that it shares with ours (so many).",
    "- All trials cut the same labels of one graph, so *p* is of a paired t-test that is corrected "
    f"for what they share (Nadeau and Bengio, 2003); fewer than {FEWEST_TO_TEST} trials have none.",
    "- *Seconds* are the median trial's, and roughly right at most: lines come from machines whose "
    "speed differs by three times and more, and which had other work to do (`metatne bench` "
    "measures). Embeddings that trials share (LINE, Node2vec, the features of GCN and Meta-GNN, "
    "NetMF in the ridge) were made in whichever trial came first, and so were trainings that the "
    "cells of a trial share (GCN's and Planetoid's, mostly at 10/20). Where cells share one fit "
    "because only their queries differ, each has all of its time.",
    "- *GB* is the most that the process held in any trial, with what trials before it in that "
    "process had left there.",
    "- MetaTNE is told by its preset. `default` is the kernel ridge with a meta-learned prior and "
    "walks from the examples that this project ships. `paper` is the paper's network as published, "
    "hours a trial. `paper-small`, also *MetaTNE of the paper*, is that in minutes: small batches "
    "of tasks, averaged weights, a ninth of the steps or so, one rate doubled and, but on PPI at "
    "10/20, other numbers of queries (`docs/methods.md` has all that differs). `short` and `brief` "
    "are that network from a spectral start that knows the known labels, for 500 and 1,000 steps; "
    "`brief` decides at a line that validation tasks choose.",
    "- *Earlier version*: run before the method was last changed, and kept until it has been run "
    "again; LOG.md says what changed and by how much. Of a method that has both, each is a row.",
    "- In the protocol `unlabelled-queries` 40 % of the nodes have lost their known labels, and "
    "only these are asked about. Under the paper's, where nodes show all other labels they hold, "
    "much of any lead of a method that sees known labels is a leak: in BlogCatalog and PPI every "
    "node holds some label, so one without a known label is likelier to hold a novel one. *No "
    "known label* scores by that alone.",
    "- Data sets called *planted* are synthetic; all they have of the real ones is their size.",
)


def write_report(rows_by_study: dict[str, list[Row]]) -> str:
    """The whole page."""
    parts = [
        "# Results\n",
        "Made by `metatne report`; behind every number are lines, a trial each, that "
        "`metatne reproduce` wrote. Every method, V1 to V5 of the ablation too, is described in "
        "`docs/methods.md`.\n",
    ]
    if summary := list(_summary(rows_by_study)):
        parts.append("## At a glance\n")
        parts.append("\n".join(summary) + "\n")
    parts += ["## How to read the tables\n", *READING, ""]
    for name, study in STUDIES.items():
        if rows := rows_by_study.get(name):
            parts.append(f"## {study.title} ({study.shows})\n")
            parts.append(f"`metatne reproduce {name}`\n")
            if study.note:
                parts.append(f"{study.note}\n")
            parts.extend(
                tables_of_curves(study, rows) if name in FIGURES else tables_of(study, rows)
            )
    if missing := list(_missing(rows_by_study)):
        parts.append("## Methods of the paper without a trial here\n")
        parts.append("\n".join(missing) + "\n")
    return "\n".join(parts)


def _summary(rows_by_study: dict[str, list[Row]]) -> Iterator[str]:
    """A line for each cell of the tables of novel labels: ours, the paper's, and the best other.

    Of ours the preset `default`; of the others the method, as it is today, that comes nearest to
    it on the trials that both have, of six or more if any has so many.
    """
    cells: dict[Cell, list[Row]] = {}
    for name in SUMMARISED:
        for cell, rows in by_cell(rows_by_study.get(name, []), STUDIES[name]).items():
            cells.setdefault(cell, []).extend(rows)
    varies = vary_in_queries(cells)
    lines = []
    for cell, rows in cells.items():
        groups = list(by_method(rows))
        ours = our_trials(rows, "default")
        if not ours:
            continue
        means = [statistics.mean(row[metric] for row in ours) for metric in SHOWN]
        paper = papers_means(cell, OURS)
        others = [
            group
            for group in groups
            if group[0] not in OURSELVES and not is_of_earlier_version(group[2][0])
        ]
        lines.append(
            [
                cell.title(with_queries=varies),
                str(len(ours)),
                _joined(means),
                _joined([paper[metric] for metric in SHOWN]) if paper else "",
                *_best_other(ours, others),
            ]
        )
    if not lines:
        return
    names = ", ".join(METRICS[metric] for metric in SHOWN)
    yield (
        f"MetaTNE's preset `default`, {names}; *lead* is in AUC, on the trials that both have, "
        f"over the method that comes nearest (of those with {FEWEST_TO_TEST} such trials or more, "
        "where there are any).\n"
    )
    yield "| | trials | default | MetaTNE in the paper | best other method | its AUC | lead | p |"
    yield "|---|---|---|---|---|---|---|---|"
    for line in lines:
        yield f"| {' | '.join(line)} |"


def _joined(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.4f}" for value in values)


_Lead = tuple[float, str, float, list[float]]
"""Ours over another method on shared trials: the mean, whose, its AUC, and trial by trial."""


def _best_other(ours: Sequence[Row], others: Sequence[Group]) -> tuple[str, str, str, str]:
    """Name, AUC, our lead and its p of the best of them on the trials of ours.

    Of controls that learn nothing only where they lead what learns: over them alone a lead would
    say little.
    """
    by_trial = {row["trial"]: row["auc"] for row in ours}
    found: list[_Lead] = []
    controls: list[_Lead] = []
    for method, name, trials in others:
        shared = [row for row in trials if row["trial"] in by_trial]
        if shared:
            gaps = [by_trial[row["trial"]] - row["auc"] for row in shared]
            theirs = statistics.mean(row["auc"] for row in shared)
            group = controls if method in LEARN_NOTHING else found
            group.append((statistics.mean(gaps), name, theirs, gaps))
    if not found:
        return "", "", "", ""
    many = [each for each in found if len(each[3]) >= FEWEST_TO_TEST]
    lead, name, theirs, gaps = min((many or found) + controls)
    return f"{name} ({len(gaps)})", f"{theirs:.4f}", f"{lead:+.4f}", p_value(gaps)


def _missing(rows_by_study: dict[str, list[Row]]) -> Iterator[str]:
    """A line for each data set and number of shots of the paper that lacks methods of the paper.

    Or for each study of them that was not run at all.
    """
    here = {row["dataset"] for rows in rows_by_study.values() for row in rows}
    of_paper_here = here.intersection(PAPER_DATASETS)
    for dataset in PAPER_DATASETS:
        if of_paper_here and dataset not in here:
            yield f"- {dataset}: no trial at all"
    for study in STUDIES.values():
        if not (rows := rows_by_study.get(study.name, [])):
            if of_paper_here.intersection(study.datasets):
                yield f"- `{study.name}` ({study.shows}): no trial at all"
            continue
        of_paper = [name for name in study.methods if check_method(name).is_in_paper]
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
