"""The shares of a meta step are of the whole step."""

from __future__ import annotations

import numpy as np
import pytest

from metatne.bench import profile
from metatne.bench.figure import Figure, Skipped
from metatne.bench.growth import Sizes, settings
from metatne.bench.profile import kind_of, profile_meta_steps
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.training.trainer import Trainer


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("aten::addmm", profile.MATRICES),
        ("aten::relu", profile.TENSORS),
        ("MmBackward0", profile.TENSORS),
        ("autograd::engine::evaluate_function: _ClosenessBackward", profile.TENSORS),
        ("Optimizer.step#Adam.step", profile.TENSORS),
        ("_Closeness", profile.FORWARD),
        ("_ClosenessBackward", profile.BACKWARD),
    ],
)
def test_kinds_of_events(event: str, kind: str) -> None:
    assert kind_of(event) == kind


def test_the_kinds_add_up_to_a_step(planted: Graph) -> None:
    labels = np.arange(10)
    split = LabelSplit(known=labels[1:], validation=labels[:1], test=labels[:0])
    trainer = Trainer(planted, split, settings(Sizes(supports=6, queries=9, dim=8)))
    total, taken = profile_meta_steps(trainer, num_steps=2)
    assert sum(taken.values()) == pytest.approx(total)
    assert all(seconds > 0 for seconds in taken.values())


def test_it_goes_on_without_a_data_set(monkeypatch: pytest.MonkeyPatch, planted: Graph) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(
        profile, "paper_graph", lambda name: planted if name == "ppi" else Skipped(name, "no file")
    )
    monkeypatch.setattr(
        profile, "make_config", lambda settings_: settings(Sizes(supports=6, queries=9, dim=8))
    )
    skipped, *figures = profile.measure(quick=True)
    assert skipped == Skipped("blogcatalog", "no file")
    shares = [figure.value for figure in figures if isinstance(figure, Figure)]
    assert sum(shares) == pytest.approx(100)
