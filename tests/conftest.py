"""Shapes are checked while tests run; fixtures that many tests share."""

from __future__ import annotations

import os
import signal

# Threads of several processes on few cores fight; before NumPy's first import, and for
# every process that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"

from jaxtyping import install_import_hook

# Before anything of metatne is imported: every signature is checked from here on.
install_import_hook("metatne", "type_checks.checked")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from xdist.remote import Producer  # noqa: E402
from xdist.scheduler import LoadFileScheduling  # noqa: E402

from graphs import hand_made, held_by  # noqa: E402
from metatne.config import Config  # noqa: E402
from metatne.estimator import MetaTNE  # noqa: E402
from metatne.evidence.fitting import fit_evidence  # noqa: E402
from metatne.evidence.model import EvidenceModel  # noqa: E402
from metatne.graph.planted import planted_graph  # noqa: E402
from metatne.graph.store import Graph  # noqa: E402
from planted import SETTINGS, SPLIT  # noqa: E402

# The first example may have to wait for a loop to be compiled, or for a busy machine.
settings.register_profile("metatne", deadline=None)
settings.load_profile("metatne")

# What is started in the background ignores Ctrl-C, and so would every command under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

TOGETHER = ("tests/cluster", "tests/page")
"""Folders whose tests share what is dear to start: a Ray; a browser, and a service to look at."""

LONG_FIRST = (
    *TOGETHER,
    "tests/cli",
    "tests/baselines",
    "tests/training",
    "tests/bench",
)
"""Where tests take longest: begun last, they would keep one worker busy while the others rest."""

SMALL = {
    "head": "prototypes",
    "dim": 16,
    "attention_dim": 16,
    "num_heads": 2,
    "feedforward_dim": 16,
    "positives": 4,
    "negatives": 6,
    "query_positives": 4,
    "query_negatives": 6,
    "pairs_per_step": 64,
    "tasks_per_step": 2,
    "structural_rate": 0.01,
    "meta_rate": 0.01,
    "decay_rate": 0.1,
    "decay_period": 2,
    "num_steps": 30,
    "validate_every": 10,
    "validation_tasks": 10,
    "device": "cpu",
}


class ByFile(LoadFileScheduling):
    """A file stays with one worker, which trains its models once, and some folders do."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


@pytest.hookimpl(optionalhook=True)  # there is none where xdist is switched off
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Who runs which tests."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long ones first; studies take the time that they take."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(0))
    ranks = {folder: rank for rank, folder in enumerate(LONG_FIRST)}
    items.sort(key=lambda item: ranks.get("/".join(item.nodeid.split("/")[:2]), len(ranks)))


@pytest.fixture
def small_settings() -> dict[str, object]:
    """Settings with which a planted graph is fitted in a second."""
    return dict(SMALL)


@pytest.fixture(scope="session")
def friends() -> Graph:
    """Two circles of friends who know each other through dora and emil."""
    edges = [
        *(("anna", "bela"), ("anna", "carl"), ("bela", "carl"), ("carl", "dora")),
        ("dora", "emil"),
        *(("emil", "fred"), ("fred", "gina"), ("fred", "hans"), ("gina", "hans")),
    ]
    labels = {
        "left": held_by("anna", "bela", "carl", "dora"),
        "right": held_by("emil", "fred", "gina", "hans"),
        "rare": held_by("anna", "hans"),
    }
    return hand_made(edges, labels, name="friends")


@pytest.fixture(scope="session")
def planted() -> Graph:
    """300 nodes with integer ids, and 10 labels made of 6 communities."""
    return planted_graph(300, num_labels=10, num_communities=6, seed=1).graph


@pytest.fixture(scope="session")
def fitted(planted: Graph) -> MetaTNE:
    """A model of `planted`; tests must not change it."""
    return MetaTNE(**SMALL).fit(planted)


@pytest.fixture(scope="session")
def twenty_labels() -> Graph:
    """600 nodes and 20 labels made of 8 communities, for the default head."""
    return planted_graph(600, num_labels=20, num_communities=8, seed=4).graph


@pytest.fixture(scope="session")
def evidence_model(twenty_labels: Graph) -> EvidenceModel:
    """The default fitted on it as a trial does; tests must not change it."""
    return fit_evidence(twenty_labels, SPLIT, Config(**SETTINGS))[0]
