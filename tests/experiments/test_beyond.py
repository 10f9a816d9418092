"""The studies beyond the paper: every one runs, is not run again, and can be read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

from metatne.evidence.head import VERSION
from metatne.evidence.model import EvidenceModel
from metatne.experiments.beyond import calibration as calibration_study
from metatne.experiments.beyond import labelling as labelling_study
from metatne.experiments.beyond import shots as shots_study
from metatne.experiments.beyond.catalogue import STUDIES, results_file, run_study
from metatne.experiments.beyond.report import write_beyond
from metatne.experiments.beyond.tasks import BySize, FarPositives, HardNegatives, NearPositives
from metatne.experiments.beyond.trial import Trial
from metatne.graph.planted import planted_graph
from metatne.sampling.tasks import TaskSampler, TaskShape

SETTINGS: dict[str, Any] = {"head_steps": 3, "head_tasks": 20, "validation_tasks": 10}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "planted"
    planted_graph(700, num_labels=20, num_communities=8, seed=1).graph.save(path)
    return path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metatne.evidence.fitting.SHAPES", ())
    monkeypatch.setattr("metatne.experiments.beyond.trial.NUM_TASKS", 10)
    monkeypatch.setattr("metatne.experiments.beyond.growth.NUM_TASKS", 10)
    monkeypatch.setattr("metatne.experiments.beyond.growth.NEW", (0.2,))
    monkeypatch.setattr("metatne.experiments.beyond.growth.SHAPE", TaskShape(5, 10, 2, 5))
    monkeypatch.setattr("metatne.experiments.beyond.unknown.HIDDEN", (0.3,))
    monkeypatch.setattr(calibration_study, "SHAPES", ((3, 6), (5, 10)))
    monkeypatch.setattr(calibration_study, "DRAWS", 3)
    monkeypatch.setattr(calibration_study, "FEWEST_LEFT", 5)
    monkeypatch.setattr(labelling_study, "FEWEST_HOLDERS", 20)
    monkeypatch.setattr(labelling_study, "ROUNDS", 2)
    monkeypatch.setattr(shots_study, "SHOTS", (5, 10_000))


@pytest.mark.parametrize("study", [name for name in STUDIES if name != "shots"])
@pytest.mark.usefixtures("quick")
def test_a_study_runs_once_and_is_told(study: str, directory: Path, tmp_path: Path) -> None:
    results = results_file(tmp_path)
    (row,) = run_study(study, str(directory), [1], results, settings=SETTINGS)
    series = {case["series"] for case in row["cases"]}
    assert len(series) > 1
    metric = STUDIES[study].metric or "covered"
    assert all(0 <= case[metric] <= 1 for case in row["cases"])
    before = results.path.read_bytes()
    (again,) = run_study(study, str(directory), [1], results, settings=SETTINGS)
    assert again == row
    assert results.path.read_bytes() == before
    page = write_beyond(results.rows(), tmp_path / "plots", tmp_path)
    assert f"`metatne beyond {study}`" in page
    assert all(f"| {name} |" in page for name in series)
    drawn = list((tmp_path / "plots").glob("*.svg"))
    assert [path.name in page for path in drawn] == [True] * len(drawn)


@pytest.mark.parametrize(
    ("chances", "shift", "error", "expected"),
    [
        ((0.05, 0.5), 0.0, 0.1, {"of_holders": 1, "calibration_error": 0, "covered": 1}),
        ((0.1, 0.5), 0.0, 0.1, {"of_holders": 140 / 95, "calibration_error": 45 / 95}),
        ((0.0001, 0.0001), 0.0, 0.1, {"of_holders": 0.1 / 95, "calibration_error": 94.9 / 95}),
        # Drawn apart by 2 each way, and by more where half of the holders were drawn each time.
        # Of two draws, each is half of the average.
        ((0.05, 0.5), 2.0, 2.0, {"covered": 0}),
        ((0.05, 0.5), 2.0, 2.1, {"covered": 1}),
    ],
)
def test_probabilities_are_held_against_the_truth(
    chances: tuple[float, float], shift: float, error: float, expected: dict[str, float]
) -> None:
    """900 nodes of which 45 hold the label, as a chance of .05 says, and 100 of which 50 do."""
    truth = np.arange(1_000) % 20 == 0
    truth[900:] = np.arange(100) % 2 == 0
    middle = logit(np.repeat(chances, (900, 100)))
    log_odds = np.stack((middle + shift, middle - shift))
    found = calibration_study.held_against(
        truth, log_odds, np.full_like(log_odds, error), share_drawn=0.5
    )
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9)


def test_nodes_that_nobody_annotated_are_asked_about(directory: Path) -> None:
    plain = Trial(str(directory), 1)
    trial = plain.with_unlabelled_queries()
    asked = trial.split.asked
    assert asked is not None
    assert plain.split.asked is None
    tasks = trial.draw(TaskShape(5, 10, 5, 10))
    assert asked[tasks.queries].all()
    assert not asked[tasks.positives].any()
    assert not asked[tasks.negatives].any()
    known = trial.visible_split.known
    assert not asked[trial.visible.labels.select(known).holds.nodes].any()
    assert asked[plain.visible.labels.select(known).holds.nodes].any()


def test_examples_are_not_among_the_nodes_asked_about(directory: Path) -> None:
    trial = Trial(str(directory), 1)
    label = int(trial.split.test[0])
    halves = calibration_study.Halves.of(trial.graph, label, np.random.default_rng(0))
    parts = [halves.holders.tolist(), halves.others.tolist(), halves.asked.tolist()]
    everyone = [node for part in parts for node in part]
    assert sorted(everyone) == list(range(trial.graph.num_nodes))
    holders = set(trial.graph.labels.holders(label).tolist())
    assert set(parts[0]) == holders.difference(parts[1], parts[2])
    assert halves.truth.tolist() == [node in holders for node in parts[2]]
    most = len(parts[0]) // 2
    assert halves.suit(most, 1)
    assert not halves.suit(most + 1, 1)
    assert not halves.suit(1, len(parts[1]) + 1)
    few = np.arange(len(halves.truth)) < 19
    assert not halves._replace(truth=few).suit(1, 1)
    assert halves._replace(truth=np.arange(len(few)) < 20).suit(1, 1)


def test_a_label_is_measured_by_what_the_model_says_at_the_true_prior(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evidence of 0 is the prior; errors are handed on; each time half of the holders is drawn."""

    def score_nodes(
        self: EvidenceModel, positives: Any, negatives: Any, candidates: Any, *, prior: float
    ) -> Any:
        assert len(set(positives.tolist())) == 2
        assert [len(each) for each in negatives] == [3]
        assert prior == 0.25
        nothing = np.zeros((1, len(candidates)))
        return SimpleNamespace(evidence=nothing + next(shifts), error=nothing + 0.74)

    monkeypatch.setattr(EvidenceModel, "score_nodes", score_nodes)
    truth = np.arange(40) % 4 == 0
    halves = calibration_study.Halves(np.arange(4), np.arange(4, 9), np.arange(9, 49), truth)
    moves = np.tile((-1.0, 1.0), calibration_study.DRAWS // 2)
    shifts = iter(moves)
    model = object.__new__(EvidenceModel)
    found = calibration_study._measured(model, halves, 2, 3, np.random.default_rng(0))
    log_odds = np.tile(logit(0.25) + moves[:, None], 40)
    errors = np.full_like(log_odds, 0.74)
    assert found == calibration_study.held_against(truth, log_odds, errors, share_drawn=0.5)
    assert found["covered"] == 0  # 1 apart, which stands for 1.451; intervals hold 1.450
    assert calibration_study.held_against(truth, log_odds, errors, share_drawn=0.4)["covered"] == 1


def test_hard_negatives_are_nearer(directory: Path) -> None:
    trial = Trial(str(directory), 1)
    labels, shape = trial.visible.labels, TaskShape(5, 10, 5, 10)
    place = np.random.default_rng(0).normal(size=(labels.num_nodes, 4)).astype(np.float32)
    place /= np.linalg.norm(place, axis=1, keepdims=True)

    def draw(kind: type[TaskSampler], **more: Any) -> Any:
        sampler = kind(labels, trial.visible_split.known, shape, **more)
        return sampler.draw(200, np.random.default_rng(1))

    def closeness(tasks: Any, of: str) -> float:
        centre = place[tasks.positives].mean(axis=1)
        return float(np.einsum("tnp,tp->tn", place[getattr(tasks, of)], centre).mean())

    def together(tasks: Any) -> float:
        return float(np.square(place[tasks.positives].mean(axis=1)).sum(axis=1).mean())

    uniform, hard = draw(TaskSampler), draw(HardNegatives, place=place)
    near, far = draw(NearPositives, place=place), draw(FarPositives, place=place)
    assert closeness(hard, "negatives") > closeness(uniform, "negatives") + 0.1
    assert together(near) > together(uniform) + 0.1
    assert together(far) < together(uniform) - 0.05
    sizes = labels.num_holders
    by_size = draw(BySize, place=place)
    assert sizes[by_size.labels].mean() > sizes[uniform.labels].mean()
    for tasks in (hard, near, far, by_size):
        assert tasks.positives.shape == (200, 5)
        assert tasks.queries.shape == (200, 15)
        assert tasks.is_positive.sum(axis=1).tolist() == [5] * 200
        for row in range(200):
            holders = set(labels.holders(int(tasks.labels[row])).tolist())
            positives = {*tasks.positives[row].tolist(), *tasks.queries[row, :5].tolist()}
            others = {*tasks.negatives[row].tolist(), *tasks.queries[row, 5:].tolist()}
            assert len(positives) == 10
            assert positives <= holders
            assert len(others) == 20
            assert not others & holders


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_shots_too(directory: Path, tmp_path: Path) -> None:
    (row,) = run_study("shots", str(directory), [1], results_file(tmp_path), settings=SETTINGS)
    assert {case["at"] for case in row["cases"]} == {5}
    assert len(row["cases"]) == 4


def test_what_is_taken_for_lacks_is_held_against_the_same_left_unknown(tmp_path: Path) -> None:
    aucs = {"pairs left unknown": 0.7, "pairs taken for lacks": 0.6}
    aucs |= {"nodes left unknown": 0.5, "nodes taken for lacks": 0.2}
    cases = [{"series": series, "at": 0.1, "auc": auc} for series, auc in aucs.items()]
    row = {"study": "unknown", "dataset": "mine", "trial": 1, "config_hash": "c", "cases": cases}
    page = write_beyond([row], tmp_path, tmp_path).splitlines()
    differences = [line.split("|")[-3].strip() for line in page if "| 0.1 | 1 |" in line]
    assert differences == ["", "-0.1000", "", "-0.3000"]


@pytest.mark.parametrize("version", [None, VERSION - 1, VERSION])
def test_curves_of_an_earlier_head_say_so(tmp_path: Path, version: int | None) -> None:
    cases = [{"series": "whole", "at": None, "auc": 0.7}]
    row = {"study": "parts", "dataset": "mine", "trial": 1, "config_hash": "c", "cases": cases}
    if version is not None:  # which lines of before do not have
        row["head_version"] = version
    page = write_beyond([row], tmp_path, tmp_path)
    assert ("earlier head" in page) == (version != VERSION)
