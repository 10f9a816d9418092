"""Figure 6: a task before and after adaptation, for two queries that Tr turns right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from openTSNE import TSNE

from metatne.errors import RunError
from metatne.estimator import MetaTNE
from metatne.evaluation.protocol import (
    TrialSettings,
    draws_label_zero,
    hide_labels,
    new_trial_method,
    trial_split,
)
from metatne.experiments.plots import save_figure
from metatne.graph.store import Graph
from metatne.model import MetaTNENetwork
from metatne.sampling.tasks import Tasks, TaskSampler
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator

POSITIVE, NEGATIVE = "#0072b2", "#d55e00"
"""Two colours that colour-blind readers can tell apart."""

Vectors = Float[np.ndarray, "_node dim"]


@dataclass(frozen=True)
class Turned:
    """A query that is on the wrong side before adaptation, and on the right one after it."""

    task: int
    query: int
    is_positive: bool
    before: float
    """Log-odds by the embeddings as they are."""

    after: float
    """Log-odds by the network."""


def draw_visual(
    graph: Graph,
    trial: int,
    paths: list[Path],
    *,
    preset: str,
    changes: Mapping[str, Any] | None = None,
) -> str:
    """Train a trial, find two queries, and draw them to files of any type that Matplotlib knows."""
    settings = TrialSettings(
        "metatne",
        preset,
        10,
        20,
        draws_label_zero=draws_label_zero(graph.name),
        settings=tuple((changes or {}).items()),
    )
    split = trial_split(graph, trial, settings)
    tasks = TaskSampler(graph.labels, split.test, settings.shape).draw(
        settings.num_tasks, numpy_generator(trial, "test tasks")
    )
    visible, visible_split = hide_labels(graph, split)
    model = new_trial_method(settings, graph.name, trial).fit(visible, split=visible_split)
    assert isinstance(model, MetaTNE)
    network = model.trained_.network
    found = find_turned(network, tasks, score_tasks(network, tasks))
    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, turned in enumerate(found):
        before, after = embeddings_of(network, tasks, turned)
        sign = "positive" if turned.is_positive else "negative"
        _draw(axes[row][0], before, f"{sign} query, before: log-odds {turned.before:+.2g}")
        _draw(axes[row][1], after, f"after: log-odds {turned.after:+.2f}")
    handles = dict(zip(*reversed(axes[0][0].get_legend_handles_labels()), strict=True))
    handles |= dict(zip(*reversed(axes[0][1].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize="small")
    figure.suptitle(f"{graph.name}, trial {trial}, preset {preset}")
    for path in paths:
        save_figure(figure, path)
    return "; ".join(
        f"task {each.task}, query {each.query}: {each.before:+.2g} to {each.after:+.2f}"
        for each in found
    )


def find_turned(
    network: MetaTNENetwork, tasks: Tasks, after: Float[np.ndarray, "task query"]
) -> list[Turned]:
    """A negative and a positive query: of those turned right, the one that moved most."""
    vectors = network.embeddings.detach().cpu().numpy()
    before = _plain_logits(vectors, tasks)
    found = []
    for is_positive in (False, True):
        sign = 1 if is_positive else -1
        is_turned = (tasks.is_positive == is_positive) & (sign * before < 0) & (sign * after > 0)
        if not is_turned.any():
            raise RunError(
                f"no {'positive' if is_positive else 'negative'} query of {len(tasks):,} tasks "
                "is turned right by the transformation; try another trial"
            )
        moved = np.where(is_turned, sign * (after - before), -np.inf)
        task, query = np.unravel_index(int(moved.argmax()), moved.shape)
        found.append(
            Turned(
                int(task),
                int(query),
                is_positive,
                float(before[task, query]),
                float(after[task, query]),
            )
        )
    return found


def _plain_logits(vectors: Vectors, tasks: Tasks) -> Float[np.ndarray, "task query"]:
    """Log-odds by the prototypes of the embeddings as they are."""
    queries = vectors[tasks.queries]

    def closeness(nodes: Int64[np.ndarray, "task shot"]) -> Float[np.ndarray, "task query"]:
        prototypes = vectors[nodes].mean(axis=1, keepdims=True)
        gaps = np.square(queries - prototypes).sum(axis=2)
        return np.asarray(-gaps / np.sqrt(vectors.shape[1]))

    return np.asarray(closeness(tasks.positives) - closeness(tasks.negatives))


Groups = dict[str, Vectors]
"""Points of one kind: "+", "-", their prototypes, and the query's."""


def embeddings_of(network: MetaTNENetwork, tasks: Tasks, turned: Turned) -> tuple[Groups, Groups]:
    """The supports, prototypes and query of a task before and after adaptation to this query."""
    vectors = network.embeddings.detach().cpu()
    query = vectors[tasks.queries[turned.task, turned.query]]
    before: Groups = {"?": query[None].numpy()}
    after: Groups = {}
    for sign, nodes in (("+", tasks.positives), ("-", tasks.negatives)):
        supports = vectors[torch.from_numpy(nodes[turned.task])]
        with torch.no_grad():
            adapted = network.transformation.adapt(supports[None], query[None, None])[0, 0]
        before[sign] = supports.numpy()
        after[sign] = adapted[:-1].numpy()
        after[f"? ({sign})"] = adapted[-1:].numpy()
    for groups in (before, after):
        for sign in "+-":
            groups[f"prototype {sign}"] = groups[sign].mean(axis=0, keepdims=True)
    return before, after


MARKS = {
    "+": ("o", 30, POSITIVE, "hold the label"),
    "-": ("o", 30, NEGATIVE, "lack it"),
    "prototype +": ("*", 160, POSITIVE, "their prototype (+)"),
    "prototype -": ("*", 160, NEGATIVE, "their prototype (-)"),
    "?": ("X", 160, "black", "the query"),
    # One may hide the other: they are the same node, among either set.
    "? (+)": ("+", 300, POSITIVE, "the query, adapted with those that hold it"),
    "? (-)": ("x", 160, NEGATIVE, "the query, adapted with those that lack it"),
}
"""Of every kind of point: its marker, size and colour, and what it stands for."""


def _draw(axis: Axes, groups: Groups, title: str) -> None:
    names = list(groups)
    points = np.concatenate([groups[name] for name in names])
    places = TSNE(perplexity=8, random_state=0, n_jobs=1).fit(points)
    ends = np.cumsum([len(groups[name]) for name in names])
    for name, part in zip(names, np.split(np.asarray(places), ends[:-1]), strict=True):
        marker, size, colour, meaning = MARKS[name]
        style: dict[str, Any] = {"c": colour, "marker": marker, "s": size, "label": meaning}
        is_of_lines = marker in "+x"  # which show what is below them
        style |= {"linewidths": 2.5} if is_of_lines else {"edgecolors": "white"}
        axis.scatter(part[:, 0], part[:, 1], **style)
    axis.set_title(title, fontsize="medium")
    axis.set_xticks([])
    axis.set_yticks([])
