"""Two processes at one thing: refused, or safe, and nothing is half one's, half the other's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sized
from pathlib import Path
from typing import Any

from cli.conftest import Town, run, town
from cli.running import Run, settings
from metatne.estimator import MetaTNE
from metatne.evaluation.results import KEY, MEASURED, ResultsFile
from metatne.graph.store import Graph
from metatne.service.catalogue import load_served
from metatne.storage import own_directory
from reliability import victims
from reliability.killing import run_side_by_side, running

__all__ = ["run", "town"]

QUESTION: dict[str, Any] = {"positives": [1, 2, 3], "negatives": [4, 5]}


def test_a_training_into_a_directory_that_another_trains_into(run: Run, town: Town) -> None:
    with own_directory(Path("m.unfinished")):  # as the other training has it
        for more in ([], ["--overwrite"]):
            done = run("train", town.graph, "--out", "m", *settings(), *more)
            assert done.code == 2
            assert "m.unfinished is in use: another process trains into it" in done.err
    assert run("train", town.graph, "--out", "m", *settings()).code == 0


def test_of_two_trainings_at_once_the_later_is_refused(run: Run, town: Town) -> None:
    """Until the earlier is gone, be it by a kill."""
    place = Path("place").absolute()
    out, unfinished = place / "model", place / "model.unfinished"
    later = ("train", town.graph, "--out", out, "--overwrite", *settings())
    with running(victims.train, town.graph, out, settings(num_steps=10**6)):
        while not unfinished.exists() or not list(unfinished.iterdir()):
            time.sleep(0.05)
        refused = run(*later)
        assert refused.code == 2
        assert "model.unfinished is in use: another process trains into it" in refused.err
    assert run(*later).code == 0
    assert [entry.name for entry in place.iterdir()] == ["model"]


def test_two_writers_of_one_file_of_results(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    row = dict.fromkeys((*KEY, *MEASURED), 1) | {"note": "x" * 5_000}
    parts = range(50), range(50, 100)
    run_side_by_side(*((victims.append_some, path, trials, row) for trials in parts))
    assert sorted(row["trial"] for row in ResultsFile(path).rows()) == list(range(100))


def looks(seen: Sized) -> Iterator[int]:
    """Thirty at least, and more until both have been seen."""
    for number in range(10_000):
        if number >= 30 and len(seen) == 2:
            return
        yield number


def test_a_model_is_served_while_it_is_replaced(tmp_path: Path) -> None:
    """Whoever loads it gets one of the two; what was loaded before answers as before."""
    sources, answers = [], []
    for seed in (0, 1):
        model = MetaTNE(**victims.NETWORK, num_steps=1, validation_tasks=2, seed=seed)
        sources.append(tmp_path / f"model {seed}")
        model.fit(victims.small_graph()).save(sources[-1])
        answers.append(model.rank(**QUESTION).to_csv())
    out = tmp_path / "served"
    seen: set[int] = set()
    with running(victims.replace_again_and_again, sources, out):
        served = load_served("served", out)
        before = served.model.rank(**QUESTION).to_csv()
        for _ in looks(seen):
            seen.add(answers.index(MetaTNE.load(out).rank(**QUESTION).to_csv()))
        assert served.model.rank(**QUESTION).to_csv() == before
    assert seen == {0, 1}


def test_a_graph_is_opened_while_it_is_replaced(tmp_path: Path) -> None:
    sources = [tmp_path / "first", tmp_path / "second"]
    for seed, source in enumerate(sources, start=2):
        victims.small_graph(seed).save(source)
    prints = {Graph.open(source).fingerprint for source in sources}
    with running(victims.replace_again_and_again, sources, tmp_path / "graph"):
        seen: set[str] = set()
        for _ in looks(seen):
            graph = Graph.open(tmp_path / "graph")
            graph.verify()
            seen.add(graph.fingerprint)
    assert seen == prints
