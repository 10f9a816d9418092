"""Every stored file, harmed in a thousand ways: refused with its name, or read as it was."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from metatne.errors import MetaTNEError
from metatne.estimator import MetaTNE
from metatne.evaluation.results import KEY, MEASURED, ResultsFile
from metatne.graph.store import Graph
from metatne.service.answers import Example
from metatne.service.catalogue import load_served, write_example
from metatne.service.project_database import ProjectDatabase
from metatne.service.projects import ProjectStore
from metatne.service.questions import ProjectContent
from metatne.training.checkpoint import restore_checkpoint, save_checkpoint
from metatne.training.trainer import Trainer
from reliability import victims
from reliability.figures import record
from reliability.mutations import harm

QUICK, STUDY = 110, 1_000
"""Mutations of each kind of store: there are five kinds."""


@dataclass(frozen=True)
class Store:
    """Files that belong together, and all that can be read from them."""

    folder: Path
    read: Callable[[Path], Any]
    may_lose: bool = False
    """Whether the end may be gone without a word: of results, trials that are then run again."""


def read_graph(folder: Path) -> Any:
    graph = Graph.open(folder)
    edges = [graph.neighbours(node).tolist() for node in range(graph.num_nodes)]
    held = [graph.labels.holders(label).tolist() for label in range(graph.labels.num_labels)]
    ids = graph.node_ids.take(range(graph.num_nodes))
    return edges, held, ids, graph.labels.names, graph.name, graph.fingerprint, graph.report


def read_model(folder: Path) -> Any:
    served = load_served("model", folder)
    trained = served.trained
    ranking = served.model.rank(positives=[1, 2], negatives=[3, 4])
    facts = (trained.config, trained.known_labels, trained.history, trained.graph_source)
    return ranking.to_csv(), facts, served.example


@cache
def a_trainer() -> Trainer:
    return victims.new_trainer()


def read_checkpoint(folder: Path) -> Any:
    trainer = a_trainer()
    restore_checkpoint(folder / "checkpoint.safetensors", trainer, "print", victims.SPLIT)
    weights = {name: w.numpy().tobytes() for name, w in trainer.network.state_dict().items()}
    return weights, trainer.contexts.numpy().tobytes(), trainer.state.step, trainer.state.history


def read_projects(folder: Path) -> Any:
    database = ProjectDatabase(folder)
    try:
        store = ProjectStore(database)
        ids = [project.id for project in store.all().projects]
        return [store.get(each) for each in ids], [store.history(each) for each in ids]
    finally:
        database.close()


def read_results(folder: Path) -> Any:
    return ResultsFile(folder / "results.jsonl").rows()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    """One of each kind."""
    folder = tmp_path_factory.mktemp("stores")
    graph = victims.small_graph()
    graph.save(folder / "graph")
    model = MetaTNE(positives=4, negatives=6, head_steps=5, head_tasks=20, validation_tasks=10)
    model.fit(graph).save(folder / "model")
    write_example(folder / "model", Example(name="a label", positives=[1, 2], negatives=[3]))
    trainer = victims.new_trainer(3)
    (folder / "checkpoint").mkdir()
    path = folder / "checkpoint" / "checkpoint.safetensors"
    save_checkpoint(path, trainer, "print", victims.SPLIT)
    database = ProjectDatabase(folder / "projects")
    store = ProjectStore(database)
    for number in range(12):
        content = ProjectContent(name=f"label {number}", model="m", positives=list(range(60)))
        project = store.create(content)
        project = store.change(project.id, content.model_copy(update={"notes": "?"}), 1)
        store.undo(project.id, project.version)
    database.close()
    results = ResultsFile(folder / "results" / "results.jsonl")
    for trial in range(1, 21):
        results.append(dict.fromkeys((*KEY, *MEASURED), 0.25) | {"trial": trial})
    return {
        "graph": Store(folder / "graph", read_graph),
        "model": Store(folder / "model", read_model),
        "checkpoint": Store(folder / "checkpoint", read_checkpoint),
        "project database": Store(folder / "projects", read_projects),
        "results": Store(folder / "results", read_results, may_lose=True),
    }


@pytest.mark.parametrize(
    "mutations", [QUICK, pytest.param(STUDY, marks=pytest.mark.slow)], ids=["quick", "study"]
)
@pytest.mark.parametrize("kind", ["graph", "model", "checkpoint", "project database", "results"])
def test_no_harm_is_read_as_an_answer(
    kind: str, mutations: int, stores: dict[str, Store], tmp_path: Path
) -> None:
    store = stores[kind]
    whole = store.read(store.folder)
    others = [file for other in stores.values() for file in sorted(other.folder.iterdir())]
    outcomes: Counter[str] = Counter()
    for seed in range(mutations):
        copy = Path(shutil.copytree(store.folder, tmp_path / "copy"))
        files = sorted(copy.iterdir())
        file = files[seed % len(files)]
        before = file.read_bytes()
        told = harm(file, others, seed)
        if file.read_bytes() == before:
            outcomes["no change"] += 1
        else:
            outcomes[outcome(store, copy, file, whole, told)] += 1
        shutil.rmtree(copy)
    assert outcomes["refused"] > mutations // 3
    if mutations >= STUDY:
        record(f"corruption: {kind}", mutations=mutations, **outcomes)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def outcome(store: Store, copy: Path, file: Path, whole: Any, told: str) -> str:
    """What came of it; anything but a refusal by name or the very same answer is a failure."""
    refusal = None
    try:
        found = store.read(copy)
    except MetaTNEError as error:
        refusal = str(error)
    if refusal is not None:
        # Of a database's files, its log among them, the one with its name is told.
        name = next(name for name in names(copy) if file.name.startswith(name))
        assert f"{copy}/{name}" in refusal, f"{told}: {refusal} does not say where"
        return "refused"
    if found == whole:
        return "read as it was"
    assert store.may_lose, f"{told}: read as something else"
    assert found == whole[: len(found)], f"{told}: read as something else"
    return "the end lost"
