"""Figure 6: two queries that the transformation turns right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metatne.errors import RunError
from metatne.estimator import MetaTNE
from metatne.experiments.visual import _plain_logits, draw_visual, embeddings_of, find_turned
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.model import prototype_closeness
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.seeding import numpy_generator


def test_turned_queries_are_wrong_before_and_right_after(planted: Graph, fitted: MetaTNE) -> None:
    tasks = TaskSampler(planted.labels, range(10), TaskShape(4, 6, 4, 6)).draw(
        200, numpy_generator(0, "visual")
    )
    network = fitted.trained_.network
    after = fitted.score_tasks(tasks)
    negative, positive = find_turned(network, tasks, after)
    assert (negative.is_positive, positive.is_positive) == (False, True)
    assert negative.before > 0 > negative.after
    assert positive.before < 0 < positive.after
    for turned in (negative, positive):
        assert after[turned.task, turned.query] == pytest.approx(turned.after)
        _, adapted = embeddings_of(network, tasks, turned)
        closeness = [
            prototype_closeness(*_as_tensors(adapted[sign], adapted[f"? ({sign})"])).item()
            for sign in "+-"
        ]
        assert closeness[0] - closeness[1] == pytest.approx(turned.after, abs=1e-4)
    # What moves nothing turns nothing.
    vectors = network.embeddings.detach().numpy()
    with pytest.raises(RunError, match="is turned right"):
        find_turned(network, tasks, _plain_logits(vectors, tasks).astype(np.float32))


def _as_tensors(supports: Any, query: Any) -> Any:
    import torch

    return torch.from_numpy(supports)[None, None], torch.from_numpy(query)[None]


def test_the_picture(tmp_path: Path) -> None:
    graph = planted_graph(400, num_labels=20, num_communities=5, seed=2).graph
    paths = [tmp_path / "visual.svg", tmp_path / "visual.png"]
    said = draw_visual(
        graph, 1, paths, preset="short", changes={"num_steps": 20, "validation_tasks": 10}
    )
    assert "task" in said
    assert paths[0].read_text().lstrip().startswith("<?xml")
    assert paths[1].read_bytes().startswith(b"\x89PNG")
