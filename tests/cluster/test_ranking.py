"""A ranking by shards is that of one process, ties included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from cli.conftest import run  # noqa: F401 - a fixture
from cli.running import Run
from metatne.config import make_config
from metatne.errors import ModelFormatError, SupportError
from metatne.estimator import MetaTNE
from metatne.graph.node_ids import NodeIds
from metatne.model import MetaTNENetwork
from metatne.saved import TrainedModel, save_model
from metatne.scoring import nodes_per_piece

pytest.importorskip("ray", reason="Ray is not installed: pip install 'metatne[cluster]'")

from metatne.cluster import ranking
from metatne.cluster.ranking import is_ranking, prepare_question, rank_on_ray

pytestmark = pytest.mark.usefixtures("ray_of_two")

NUM_NODES, NUM_TWINS = 1_500, 300
POSITIVES = [f"n{number}" for number in range(0, 60, 3)]
NEGATIVES = [f"n{number}" for number in range(100, 160)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose ids are not in order, and whose nodes are alike in fives: many ties."""
    config = make_config(
        {"dim": 8, "attention_dim": 8, "num_heads": 2, "feedforward_dim": 8, "device": "cpu"}
        | {"identity_start": False, "head": "prototypes"}
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = MetaTNENetwork(NUM_NODES, config)
        torch.nn.init.normal_(network.embeddings)
    network.embeddings.data = network.embeddings.data[:NUM_TWINS].repeat(5, 1).contiguous()
    names = np.random.default_rng(1).permutation([f"n{number}" for number in range(NUM_NODES)])
    trained = TrainedModel(
        scorer=network,
        config=config,
        node_ids=NodeIds(names.tolist()),
        graph_name="twins",
        fingerprint="0" * 64,
        known_labels=[],
        validation_labels=[],
        best_step=0,
        history=[],
    )
    path = tmp_path_factory.mktemp("model") / "model"
    save_model(path, trained)
    return path


@pytest.mark.parametrize(
    ("negatives", "top"),
    [
        pytest.param([], None, id="weak-all", marks=pytest.mark.slow),
        pytest.param(NEGATIVES, 7, id="given-top"),
    ],
)
def test_shards_give_the_ranking_of_one_process(
    model: Path, negatives: list[str], top: int | None, tmp_path: Path
) -> None:
    expected = MetaTNE.load(model).rank(positives=POSITIVES, negatives=negatives, top=top)
    prepared = prepare_question(model, positives=POSITIVES, negatives=negatives, top=top)
    assert prepared.weak_negatives == expected.attrs["weak_negatives"]
    assert len(prepared.candidates) > 2 * nodes_per_piece(len(POSITIVES) + 20), "several shards"

    ranked = rank_on_ray(prepared, nodes_per_shard=1)
    assert len(ranked) == len(expected)
    expected.attrs.clear()
    pd.testing.assert_frame_equal(ranked.table(), expected, check_exact=True)

    ranked.write(tmp_path / "ranking.parquet")
    expected.to_parquet(tmp_path / "local.parquet", index=False)
    assert is_ranking(tmp_path / "ranking.parquet")
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "ranking.parquet"),
        pd.read_parquet(tmp_path / "local.parquet"),
        check_exact=True,
    )
    if top is None:
        ties = expected["probability"].duplicated().sum()
        assert ties > NUM_NODES // 2, "the test is about ties, too"
        assert len(list((tmp_path / "ranking.parquet").iterdir())) > 1


def test_the_command_writes_and_shows_the_same(
    run: Run,  # noqa: F811
    model: Path,
    tmp_path: Path,
) -> None:
    examples = [part for node in POSITIVES for part in ("-p", node)]
    candidates = tmp_path / "candidates.txt"
    candidates.write_text("\n".join(NEGATIVES))
    command = ["predict", model, *examples, "--candidates", candidates]
    assert run(*command, "-o", "local.parquet").code == 0
    (tmp_path / "ranking.parquet").write_text("what was there before")
    for _ in range(2):  # what it wrote itself it may replace
        written = run(*command, "-o", "ranking.parquet", "--engine", "ray", "--workers", 2)
        assert written.code == 0, written.err
        assert "wrote 60 ranked nodes to ranking.parquet" in written.err
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "ranking.parquet"), pd.read_parquet(tmp_path / "local.parquet")
    )

    here, there = run(*command), run(*command, "--engine", "ray")
    assert (here.out, here.err) == (there.out, there.err)
    assert "and 40 more" in there.err


def test_outputs_that_are_refused(
    run: Run,  # noqa: F811
    model: Path,
    tmp_path: Path,
) -> None:
    command = ["predict", model, "-p", "n1", "--engine", "ray", "-o"]
    finished = run(*command, "ranking.csv")
    assert finished.code == 2
    assert "ends in .parquet with --engine ray, found 'ranking.csv'" in finished.err
    (tmp_path / "mine.parquet").mkdir()
    (tmp_path / "mine.parquet" / "diary.txt").touch()
    finished = run(*command, "mine.parquet")
    assert finished.code == 2
    assert "expected a file, found the directory mine.parquet" in finished.err


def test_mistakes_are_told_before_ray_is_asked(model: Path) -> None:
    with pytest.raises(SupportError, match="every node of the graph is an example"):
        prepare_question(
            model, positives=["n0"], negatives=[f"n{number}" for number in range(1, NUM_NODES)]
        )


def test_a_machine_that_sees_another_model(model: Path) -> None:
    prepared = prepare_question(model, positives=POSITIVES)
    other = ranking.PreparedQuestion(
        ranking.Question(
            model=prepared.question.model,
            digest="f" * 64,
            support=prepared.question.support,
            top=None,
        ),
        prepared.candidates,
        prepared.weak_negatives,
        prepared.nodes_per_piece,
    )
    with pytest.raises(ModelFormatError, match="another model on another machine"):
        rank_on_ray(other)
