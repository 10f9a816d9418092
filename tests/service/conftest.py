"""One small town and one graph of numbers, trained once and served by one service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from metatne.cli.saving import save_model
from metatne.estimator import MetaTNE
from metatne.graph.source import GraphSource
from metatne.graph.store import Graph
from metatne.service.answers import Example
from metatne.service.catalogue import load_served, write_example
from metatne.service.http.server import Server
from metatne.service.served_model import ServedModel
from service.towns import HOLDS, LACKS, QUICK, running, town_graph


@pytest.fixture(scope="session")
def town_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model that knows where its graph is, and an example beside it."""
    folder = tmp_path_factory.mktemp("served")
    graph = town_graph()
    graph.save(folder / "graph")
    model = MetaTNE(**QUICK).fit(graph)
    source = GraphSource.of(str(folder / "graph"))
    save_model(model, source, folder / "town", overwrite=False)
    write_example(folder / "town", Example(name="chess", positives=[*HOLDS], negatives=[*LACKS]))
    return folder / "town"


@pytest.fixture(scope="session")
def town(town_model: Path) -> ServedModel:
    """The default head with a graph; tests must not change it."""
    return load_served("town", town_model)


@pytest.fixture(scope="session")
def graph(town: ServedModel) -> Graph:
    """The town's graph."""
    return town.needed_graph


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory, fitted: MetaTNE) -> ServedModel:
    """The paper's head over integer ids; nobody knows where its graph is."""
    path = tmp_path_factory.mktemp("numbers") / "numbers"
    fitted.save(path)
    return load_served("numbers", path)


@pytest.fixture(scope="module")
def server(
    town: ServedModel, numbers: ServedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A service of both models, for tests that leave it as it is but for projects."""
    with running([town, numbers], tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest.fixture
def http(server: Server) -> Iterator[httpx.Client]:
    """Requests to the service."""
    with httpx.Client(verify=False, base_url=server.url, timeout=30) as client:
        yield client
