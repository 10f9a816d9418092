"""Labels of which not everything is known: left unknown, against taken for lacks."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from metatne.experiments.beyond.trial import Lines, Trial, line
from metatne.graph.label_pairs import LabelPairs
from metatne.graph.labels import Labels
from metatne.graph.store import Graph
from metatne.seeding import numpy_generator

HIDDEN = (0.1, 0.2, 0.3, 0.4, 0.5)
LEFT, TAKEN = "left unknown", "taken for lacks"
AS_THEY_COME = "nodes as they come,"
COMPARED = {f"{what} {TAKEN}": f"{what} {LEFT}" for what in ("pairs", "nodes", AS_THEY_COME)}


def unknown(trial: Trial) -> Lines:
    """Some known pairs hidden at random, and some nodes hidden whole; `at` is their share.

    Where nodes of the graph are unannotated by themselves, that comes first, at a share of 0.
    Tasks ask about all nodes, so both ways of treating what is hidden face the same questions.
    """
    tasks = trial.draw()
    labels = trial.visible.labels
    if labels.unannotated is not None:
        plain = Labels(labels.names, labels.num_nodes, labels.holds)
        for name, told in ((LEFT, labels), (TAKEN, plain)):
            model = trial.fit(trial.visible.with_labels(told))
            yield line(f"{AS_THEY_COME} {name}", model.score_tasks(tasks), tasks, at=0)
        return
    for share in HIDDEN:
        for what, hide in (("pairs", _hide_pairs), ("nodes", _hide_nodes)):
            for name, graph in zip((LEFT, TAKEN), hide(trial, share), strict=True):
                scores = trial.fit(graph).score_tasks(tasks)
                yield line(f"{what} {name}", scores, tasks, at=share)


def _hide_pairs(trial: Trial, share: float) -> tuple[Graph, Graph]:
    labels, known = trial.visible.labels, trial.visible_split.known
    generator = numpy_generator(trial.number, f"hide pairs {share}")
    places, nodes = np.nonzero(generator.random((len(known), labels.num_nodes)) < share)
    return _without(trial.visible, known[places], nodes)


def _hide_nodes(trial: Trial, share: float) -> tuple[Graph, Graph]:
    labels, known = trial.visible.labels, trial.visible_split.known
    generator = numpy_generator(trial.number, f"hide nodes {share}")
    nodes = np.flatnonzero(generator.random(labels.num_nodes) < share)
    return _without(trial.visible, np.repeat(known, len(nodes)), np.tile(nodes, len(known)))


def _without(
    graph: Graph, of_labels: Int64[np.ndarray, " pair"], of_nodes: Int64[np.ndarray, " pair"]
) -> tuple[Graph, Graph]:
    """The graph without these pairs: once unknown, once as if they were lacking."""
    labels = graph.labels
    size = labels.num_labels, labels.num_nodes
    hidden = LabelPairs.of(of_labels, of_nodes, *size)
    held = labels.holds
    left = ~hidden.contains(held.pair_labels * labels.num_nodes + held.nodes)
    holds = LabelPairs.of(held.pair_labels[left], held.nodes[left], *size)
    left_unknown = Labels(labels.names, labels.num_nodes, holds, unknown=hidden)
    return graph.with_labels(left_unknown), graph.with_labels(
        Labels(labels.names, labels.num_nodes, holds)
    )
