"""What the head `evidence` owes to its parts, and what it does beyond the paper.

    python benchmarks/evidence.py parts|shots|unknown|growth|labelling [TRIALS] [DATASET]

One JSON line a finished trial in results/evidence.jsonl, which is not run again; at the end the
means over the trials. Everything is measured on test labels that no part of a fit has seen, and
nothing is chosen by it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from metatne.baselines.line import LINE
from metatne.baselines.node2vec import Node2vec
from metatne.bench.data import paper_graph
from metatne.bench.figure import Skipped
from metatne.config import Config
from metatne.device import one_thread
from metatne.evaluation.protocol import TrialSettings, hide_labels, mean_scores, trial_split
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.evidence.reasons import suggest
from metatne.graph.labels import LabelPairs, Labels
from metatne.graph.store import Graph
from metatne.metrics import average_precision
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.seeding import numpy_generator

RESULTS = Path(__file__).parent.parent / "results/evidence.jsonl"
PARTS = ("place", "own labels", "labels around", "expected labels", "traits", "columns", "level")
SHOTS = (5, 10, 20, 50, 100, 200, 500)
HIDDEN = (0.1, 0.3, 0.5)
NUM_TASKS = 300

Line = dict[str, Any]


class Trial:
    """A graph of the paper with the labels of a trial."""

    def __init__(self, dataset: str, number: int) -> None:
        graph = paper_graph(dataset)
        if isinstance(graph, Skipped):
            sys.exit(graph.reason)
        settings = TrialSettings("metatne", "default", 10, 20, draws_label_zero=False)
        self.graph, self.number = graph, number
        self.split = trial_split(graph, number, settings)
        self.visible, self.visible_split = hide_labels(graph, self.split)

    def draw(self, shape: TaskShape, labels: np.ndarray | None = None) -> Any:
        chosen = self.split.test if labels is None else labels
        sampler = TaskSampler(self.graph.labels, chosen, shape)
        return sampler.draw(NUM_TASKS, numpy_generator(self.number, f"evidence {shape}"))

    def fit(self, graph: Graph | None = None, **settings: Any) -> Any:
        config = Config(seed=self.number, **settings)
        with one_thread():
            return fit_evidence(graph or self.visible, self.visible_split, config)[0]


def parts(trial: Trial) -> Iterator[Line]:
    """Without each part of the head in turn."""
    tasks = trial.draw(TaskShape(10, 20, 10, 20))
    for part in (None, *PARTS):
        model = trial.fit(head_without=() if part is None else (part,))
        yield {"case": f"without {part}" if part else "whole"} | mean_scores(
            model.score_tasks(tasks), tasks
        )


def shots(trial: Trial) -> Iterator[Line]:
    """From few examples to many, against embeddings with logistic regression."""
    model = trial.fit()
    with one_thread():
        plain = {"p_choices": (1.0,), "q_choices": (1.0,), "walks_per_node": 10}
        others = {"LINE": LINE(), "Node2vec, 10 walks": Node2vec(**plain)}
        methods = {"MetaTNE": model} | {
            name: method.fit(trial.visible, split=trial.visible_split)
            for name, method in others.items()
        }
    counts = trial.graph.labels.num_holders[trial.split.test]
    for positives in SHOTS:
        if not (counts > positives + 10).any():
            continue
        tasks = trial.draw(TaskShape(positives, 2 * positives, 10, 20))
        for name, method in methods.items():
            scores = np.asarray(method.score_tasks(tasks))
            yield {"case": f"{positives}: {name}"} | mean_scores(scores, tasks)


def unknown(trial: Trial) -> Iterator[Line]:
    """Known pairs of which nothing is known any more: left unknown, or taken for lacks."""
    tasks = trial.draw(TaskShape(10, 20, 10, 20))
    labels, generator = trial.visible.labels, numpy_generator(trial.number, "hide pairs")
    num_nodes, known = labels.num_nodes, trial.visible_split.known
    for share in HIDDEN:
        hidden = generator.random((len(known), num_nodes)) < share
        in_known, nodes = np.nonzero(hidden)
        pairs = LabelPairs.of(known[in_known], nodes, labels.num_labels, num_nodes)
        keys = labels.holds.pair_labels * num_nodes + labels.holds.nodes
        left = ~pairs.contains(keys)
        holds = LabelPairs.of(
            labels.holds.pair_labels[left], labels.holds.nodes[left], labels.num_labels, num_nodes
        )
        for name, told in (("unknown", pairs), ("taken for lacks", None)):
            graph = trial.visible.with_labels(Labels(labels.names, num_nodes, holds, unknown=told))
            model = trial.fit(graph)
            yield {"case": f"{share:.0%} hidden, {name}"} | mean_scores(
                model.score_tasks(tasks), tasks
            )


def growth(trial: Trial) -> Iterator[Line]:
    """5 % of the nodes come later: `update` against training again; tasks ask about these."""
    graph, generator = trial.visible, numpy_generator(trial.number, "new nodes")
    is_new = generator.random(graph.num_nodes) < 0.05
    old = np.flatnonzero(~is_new)
    smaller = _subgraph(graph, old)
    with one_thread():
        config = Config(seed=trial.number)
        before = fit_evidence(smaller, trial.visible_split, config)[0]
        gone = graph.labels.forget(np.arange(graph.labels.num_labels), is_new)
        now = graph.with_labels(gone)
        updated = grown(before, smaller.node_ids, now)
    again = trial.fit(now)
    shape = TaskShape(10, 20, 5, 10)
    sampler = TaskSampler(trial.graph.labels, trial.split.test, shape, asked=is_new)
    tasks = sampler.draw(NUM_TASKS, numpy_generator(trial.number, "new node tasks"))
    for name, model in (("updated", updated), ("trained again", again)):
        yield {"case": name} | mean_scores(model.score_tasks(tasks), tasks)


def _subgraph(graph: Graph, kept: np.ndarray) -> Graph:
    import pyarrow as pa

    from metatne.graph.build import build_graph
    from metatne.graph.raw import RawEdges

    adjacency = graph.adjacency()[kept][:, kept].tocoo()
    rows, columns = adjacency.coords
    upper = rows < columns
    names = np.array(graph.node_ids.take(kept), dtype=object)
    made = build_graph(
        RawEdges(
            sources=pa.array(names[rows[upper]].tolist()),
            targets=pa.array(names[columns[upper]].tolist()),
            weights=None,
            nodes=pa.array(names.tolist()),
        ),
        None,
        name=graph.name,
    )
    place = made.node_ids.positions(names.tolist())
    new_place = np.full(graph.num_nodes, -1)
    new_place[kept] = place
    held = graph.labels.holds
    inside = new_place[held.nodes] >= 0
    labels = Labels.from_statements(
        graph.labels.names,
        made.num_nodes,
        new_place[held.nodes[inside]],
        held.pair_labels[inside],
    )
    return made.with_labels(labels)


def labelling(trial: Trial) -> Iterator[Line]:
    """Ten rounds of five more labels from one half of the nodes, by `suggest` and at random:
    average precision on the other half."""
    model = trial.fit()
    generator = numpy_generator(trial.number, "labelling")
    counts = trial.graph.labels.num_holders
    labels = [label for label in trial.split.test.tolist() if counts[label] >= 60]
    half = generator.permutation(trial.graph.num_nodes) < trial.graph.num_nodes // 2
    pool, held_out = np.flatnonzero(half), np.flatnonzero(~half)
    for name in ("suggested", "at random"):
        by_round: list[list[float]] = [[] for _ in range(11)]
        for label in labels:
            holds = np.zeros(trial.graph.num_nodes, dtype=bool)
            holds[trial.graph.labels.holders(label)] = True
            start = np.random.default_rng(label)
            positives = start.choice(pool[holds[pool]], 5, replace=False)
            negatives = start.choice(pool[~holds[pool]], 10, replace=False)
            for number in range(11):
                found = model.score_nodes(positives, negatives, held_out, with_error=False)
                precision = average_precision(found.evidence[None], holds[held_out][None])
                by_round[number].append(float(precision[0]))
                rest = np.setdiff1d(pool, np.concatenate((positives, negatives)))
                if name == "suggested":
                    scored = model.score_nodes(positives, negatives, rest, with_error=False)
                    margins = scored.evidence - scored.threshold
                    chosen = suggest(model, rest, margins, number=5)
                else:
                    chosen = generator.choice(rest, 5, replace=False)
                positives = np.concatenate((positives, chosen[holds[chosen]]))
                negatives = np.concatenate((negatives, chosen[~holds[chosen]]))
        for number in (0, 2, 5, 10):
            means = {"average_precision": mean(by_round[number])}
            yield {"case": f"{5 * number} more, {name}"} | means


STUDIES = {f.__name__: f for f in (parts, shots, unknown, growth, labelling)}


def main(study: str, num_trials: int, dataset: str) -> None:
    rows = [json.loads(line) for line in RESULTS.open()] if RESULTS.exists() else []
    for number in range(1, num_trials + 1):
        facts = {"study": study, "dataset": dataset, "trial": number}
        if any(facts.items() <= row.items() for row in rows):
            continue
        new = [facts | line for line in STUDIES[study](Trial(dataset, number))]
        with RESULTS.open("a") as file:  # all lines of a trial, or none
            file.write("".join(json.dumps(row) + "\n" for row in new))
        rows += new
    mine = [row for row in rows if (row["study"], row["dataset"]) == (study, dataset)]
    for case in dict.fromkeys(row["case"] for row in mine):
        of_case = [row for row in mine if row["case"] == case]
        metrics = [m for m in ("auc", "f1", "recall", "average_precision") if m in of_case[0]]
        shown = "  ".join(f"{m} {mean(row[m] for row in of_case):.4f}" for m in metrics)
        print(f"{dataset} {case:35} {shown}  ({len(of_case)} trials)")


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in STUDIES:
        sys.exit(__doc__)
    main(name, int((sys.argv[2:] or [3])[0]), (sys.argv[3:] or ["ppi"])[0])
