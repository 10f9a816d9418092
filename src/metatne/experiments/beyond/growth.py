"""Nodes that come after training: `update` against training again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from metatne.config import make_config
from metatne.device import one_thread
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.experiments.beyond.trial import NUM_TASKS, Lines, Trial, line
from metatne.graph.build import build_graph
from metatne.graph.labels import Labels
from metatne.graph.raw import LACKS, RawEdges
from metatne.graph.store import Graph
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.seeding import numpy_generator

NEW = (0.05, 0.1, 0.2)
SHAPE = TaskShape(10, 20, 5, 10)
"""Of 5 % of the nodes a label has few holders."""


def growth(trial: Trial) -> Lines:
    """A share of the nodes is new, with edges and no labels; tasks ask about these."""
    graph = trial.visible
    generator = numpy_generator(trial.number, "new nodes")
    place = generator.random(graph.num_nodes)
    for share in NEW:
        is_new = place < share
        smaller = _part(graph, np.flatnonzero(~is_new))
        everything = np.arange(graph.labels.num_labels)
        now = graph.with_labels(graph.labels.forget(everything, is_new))
        with one_thread():
            config = make_config(trial.settings)
            before = fit_evidence(smaller, trial.visible_split, config)[0]
            updated = grown(before, smaller.node_ids, now)
        sampler = TaskSampler(trial.graph.labels, trial.split.test, SHAPE, asked=is_new)
        tasks = sampler.draw(NUM_TASKS, numpy_generator(trial.number, "tasks of new nodes"))
        for name, model in (("updated", updated), ("trained again", trial.fit(now))):
            yield line(name, model.score_tasks(tasks), tasks, at=share)


def _part(graph: Graph, kept: Int64[np.ndarray, " node"]) -> Graph:
    """The graph of some nodes, the edges between them and what is known of their labels."""
    adjacency = graph.adjacency()[kept][:, kept].tocoo()
    rows, columns = adjacency.coords
    upper = rows < columns
    names = np.array(graph.node_ids.take(kept), dtype=object)
    made = build_graph(
        RawEdges(
            sources=pa.array(names[rows[upper]].tolist()),
            targets=pa.array(names[columns[upper]].tolist()),
            weights=None if graph.weights is None else pa.array(adjacency.data[upper]),
            nodes=pa.array(names.tolist()),
        ),
        None,
        name=graph.name,
    )
    places = made.node_ids.positions(names.tolist())
    labels = graph.labels
    numbers = np.arange(labels.num_labels)
    states = labels.states(kept[:, None], numbers[None])
    unannotated = np.zeros(made.num_nodes, dtype=bool)
    if labels.unannotated is not None:
        unannotated[places] = labels.unannotated[kept]
        states[labels.unannotated[kept]] = LACKS  # the mask says that they are unknown
    said, of_labels = np.nonzero(states != LACKS)
    return made.with_labels(
        Labels.from_statements(
            labels.names,
            made.num_nodes,
            places[said],
            of_labels,
            states[said, of_labels],
            unannotated=unannotated if labels.unannotated is not None else None,
        )
    )
