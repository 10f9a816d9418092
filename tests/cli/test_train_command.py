"""`metatne train`: settings, what it leaves, and that it can be stopped at any moment."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli.conftest import Town
from cli.running import Run, files_up_to, run_process, settings
from metatne.cli.training_bar import TrainingProgress
from metatne.estimator import MetaTNE
from metatne.saved import WEIGHTS
from metatne.training import memory
from metatne.training.checkpoint import Checkpointer

SIGNAL_AT_STEP = """
import os
from metatne.cli.training_bar import TrainingProgress
from metatne.training import checkpoint
from metatne.training.checkpoint import Checkpointer

checkpoint.SHARE_OF_TIME = 1e9  # however long a checkpoint takes, the next is due
os.fsync = lambda file: None  # a crash of the machine is not what is tested, and it is slow
Checkpointer.__init__.__kwdefaults__["every_seconds"] = {every_seconds}
draw = TrainingProgress.on_step

def on_step(self, step, num_steps, tau):
    draw(self, step, num_steps, tau)
    if step == {step}:
        os.kill(os.getpid(), {signal:d})

TrainingProgress.on_step = on_step
"""


def test_a_model_from_ones_own_graph(run: Run, town: Town) -> None:
    done = run("train", town.graph, "--out", "models/first", *settings(), "--seed", 3)
    assert (done.code, done.out) == (0, "")
    model = MetaTNE.load("models/first")
    assert model.config.seed == 3
    assert model.config.dim == 8
    assert model.num_steps_ == 40
    assert "Graph('town': 150 nodes" in done.err
    assert "of memory" in done.err
    assert [line.split(":")[0] for line in done.err.splitlines() if line.startswith("step")] == [
        "step 0",
        "step 10",
        "step 20",
        "step 30",
        "step 40",
    ]
    assert f"saved models/first: step {model.best_step_} of 40" in done.err
    assert model.quality_ is not None
    assert model.quality_.verdict() in done.err
    assert "QualityWarning" not in done.err
    assert [path.name for path in Path("models").iterdir()] == ["first"]


def test_the_more_particular_setting_wins(run: Run, town: Town) -> None:
    Path("own.toml").write_text("num_steps = 12\nseed = 5\nvalidation_tasks = 7\ndropout = 0.2\n")
    train = ("train", town.graph, "--preset", "paper", "--config", "own.toml")
    changes = ("dim=8", "attention_dim=8", "tasks_per_step=2", "positives=4", "negatives=6")
    small = [part for change in changes for part in ("--set", change)]
    assert run(*train, *small, "--out", "a").code == 0
    config = MetaTNE.load("a").config
    assert config.validate_every == 200  # the preset's
    assert (config.num_steps, config.seed, config.validation_tasks) == (12, 5, 7)
    assert run(*train, *small, "--seed", 6, "--set", "num_steps=4", "--out", "b").code == 0
    config = MetaTNE.load("b").config
    assert (config.num_steps, config.seed, config.validation_tasks) == (4, 6, 7)


def test_the_same_seed_gives_the_same_model(run: Run, town: Town) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("train", town.graph, "--out", name, *settings(), "--seed", seed).code == 0
    assert _weights("a") == _weights("b") != _weights("c")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--set", "dimm=3"], "there is no setting 'dimm'; did you mean 'dim'?"),
        (["--set", "dim=0"], "dim: expected greater than or equal to 1, found 0"),
        (["--set", "dropout=1.5"], "dropout: expected less than 1, found 1.5"),
        (["--set", "dim"], "--set: expected key=value, found 'dim'"),
        (["--set", "num_heads=3"], "attention_dim (256) must be a multiple of num_heads (3)"),
        (["--seed", "-1"], "seed: expected greater than or equal to 0, found -1"),
        (
            ["--preset", "papr"],
            "preset: expected one of default, short, brief, paper-small, paper, found 'papr'",
        ),
        (["--config", "missing.toml"], "missing.toml: no such file"),
        (["--config", "."], "--config: expected a TOML file, found the directory ."),
        (["--config", "broken.toml"], "broken.toml: not a TOML file"),
        (["--config", "misspelt.toml"], "there is no setting 'seeed'; did you mean 'seed'?"),
        (["--set", "device=tpu"], "device: expected 'auto', 'cpu', 'cuda', 'cuda:N' or 'mps'"),
        (["--resume"], "--resume: there is no unfinished training at m.unfinished"),
        (["--data-dir", "nowhere"], "--data-dir: there is no directory nowhere"),
        (["--log-dir", "broken.toml"], "broken.toml: File exists"),
    ],
)
def test_mistakes_are_said_and_leave_nothing(
    run: Run, town: Town, given: list[str], message: str
) -> None:
    Path("broken.toml").write_text("dim = \n")
    Path("misspelt.toml").write_text("seeed = 1\n")
    done = run("train", town.graph, "--out", "m", *given)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert sorted(path.name for path in Path().iterdir()) == ["broken.toml", "misspelt.toml"]


def test_labels_that_are_too_few_are_named(run: Run, town: Town) -> None:
    done = run("train", town.graph, "--out", "m", *settings(positives=100))
    assert done.code == 2
    assert "a task takes 100 + " in done.err
    Path("edges.csv").write_text("a,b\n")
    assert run("graph", "import", "edges.csv", "--out", "g").code == 0
    done = run("train", "g", "--out", "m")
    assert done.code == 2
    assert "the graph 'g' has no labels to learn from" in done.err


def test_a_run_that_cannot_fit_is_refused_before_it_starts(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_OVERHEAD", 2**60)
    done = run("train", town.graph, "--out", "m", *settings())
    assert done.code == 1  # nothing is wrong with the input
    assert "this training needs about 1073741824.0 GiB" in done.err
    assert not list(Path().iterdir())


def test_what_exists_is_not_overwritten_unasked(run: Run, town: Town) -> None:
    train = ("train", town.graph, *settings(), "--out")
    Path("notes").mkdir()
    Path("file").write_text("something")
    shutil.copytree(town.model, "model")
    for out in ("notes", "file", "model"):
        done = run(*train, out)
        assert done.code == 2
        assert f"--out: {out} exists already; name another, or add --overwrite" in done.err
    for out in ("notes", "file"):  # said before the training, not after it
        done = run(*train, out, "--overwrite")
        assert done.code == 2
        assert f"{out} is not a saved model, so it is not replaced" in done.err
        assert "step" not in done.err
    before = _weights("model")
    assert run(*train, "model", "--overwrite", "--seed", 9).code == 0
    assert _weights("model") != before


def test_an_unfinished_training_is_not_lost_by_mistake(run: Run, town: Town) -> None:
    checkpoint = Path("m.unfinished/checkpoint.safetensors")
    checkpoint.parent.mkdir()
    checkpoint.write_text("hours of work")
    done = run("train", town.graph, "--out", "m", *settings())
    assert done.code == 2
    assert "m.unfinished holds an unfinished training; go on with --resume" in done.err
    # Started again, but not with this: the graph's name is misspelt.
    assert run("train", "twon", "--out", "m", "--overwrite").code == 2
    assert checkpoint.read_text() == "hours of work"
    done = run("train", town.graph, "--out", "m", "--resume", *settings())
    assert done.code == 2
    assert f"{checkpoint}: not a whole checkpoint" in done.err
    assert run("train", town.graph, "--out", "m", "--overwrite", *settings()).code == 0
    assert not checkpoint.parent.exists()


def test_the_log_directory_gets_both_kinds(run: Run, town: Town) -> None:
    done = run("train", town.graph, "--out", "m", "--log-dir", "logs/m", *settings())
    assert done.code == 0
    lines = [json.loads(line) for line in Path("logs/m/training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 10, 20, 30, 40]
    assert {"auc", "f1", "tau", "structural_loss", "meta_loss", "is_best"} <= set(lines[0])
    assert len(list(Path("logs/m").glob("events.out.tfevents*"))) == 1


def test_ctrl_c_keeps_the_training_and_resume_ends_it_the_same(run: Run, town: Town) -> None:
    train = ("train", town.graph, *settings(), "--seed", 4)
    interrupt = SIGNAL_AT_STEP.format(every_seconds=600, step=17, signal=signal.SIGINT)
    done = run_process(*train, "--out", "m", cwd=Path(), before=interrupt)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "error: stopped; the training is kept in m.unfinished: " in done.err
    assert [path.name for path in Path().iterdir()] == ["m.unfinished"]

    for changed, message in (
        (("--set", "l2=0.5"), "l2 was 0.01, is 0.5"),
        (("--set", "seed=5"), "seed was 4, is 5"),  # which also splits the labels otherwise
    ):
        done = run(*train, "--out", "m", "--resume", *changed)
        assert done.code == 2
        assert message in done.err

    done = run(*train, "--out", "m", "--resume")
    assert done.code == 0
    assert "step 10:" not in done.err
    assert "step 20:" in done.err
    assert [path.name for path in Path().iterdir()] == ["m"]
    assert run(*train, "--out", "unbroken").code == 0
    assert _weights("m") == _weights("unbroken")
    columns = ["step", "tau", "structural_loss", "meta_loss", "auc", "f1"]
    histories = [MetaTNE.load(name).history_[columns] for name in ("m", "unbroken")]
    # Losses of the process that compiled the loops may differ in the last bit (6e-8 seen) from
    # those of one that loaded them (LOG.md).
    resumed, unbroken = histories
    pd.testing.assert_frame_equal(resumed, unbroken, rtol=0, atol=1e-6)


@pytest.mark.slow  # tests/reliability/test_crashes.py has more kills
def test_a_killed_training_goes_on_from_its_last_checkpoint(run: Run, town: Town) -> None:
    train = ("train", town.graph, *settings(), "--seed", 4)
    kill = SIGNAL_AT_STEP.format(every_seconds=0, step=23, signal=signal.SIGKILL)
    assert run_process(*train, "--out", "m", cwd=Path(), before=kill).code == -signal.SIGKILL
    assert [path.name for path in Path().iterdir()] == ["m.unfinished"]
    done = run(*train, "--out", "m", "--resume")
    assert done.code == 0
    assert "step 20:" not in done.err
    assert "step 30:" in done.err
    assert run(*train, "--out", "unbroken").code == 0
    assert _weights("m") == _weights("unbroken")


def test_a_second_ctrl_c_ends_at_once(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt_twice(self: TrainingProgress, step: int, num_steps: int, tau: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(TrainingProgress, "on_step", interrupt_twice)
    done = run("train", town.graph, "--out", "m", *settings())
    assert done.code == 1
    assert "error: interrupted" in done.err
    assert not list(Path().iterdir())
    assert signal.getsignal(signal.SIGINT) is handler


def test_resume_refuses_another_graph(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stop_at_once(run, town, monkeypatch)
    edges = "".join(town.edges.read_text().splitlines(keepends=True)[:-1])
    Path("fewer.csv").write_text(edges)
    labels = ("--labels", town.labels, "--keep-unlinked")
    assert run("graph", "import", "fewer.csv", *labels, "--out", "fewer").code == 0
    done = run("train", "fewer", "--out", "m", "--resume", *settings())
    assert done.code == 2
    assert "this training was started on another graph" in done.err
    assert Path("m.unfinished/checkpoint.safetensors").exists()


def test_a_full_disk_is_said_and_leaves_no_half_model(run: Run, town: Town) -> None:
    with files_up_to(4096):
        done = run("train", town.graph, "--out", "m", *settings())
    assert done.code == 1
    assert "error: m could not be written: " in done.err
    assert "File too large" in done.err
    assert not list(Path().iterdir())


def _stop_at_once(run: Run, town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Checkpointer, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options | {"should_stop": lambda: True})

    original = Checkpointer.__init__
    with monkeypatch.context() as patch:
        patch.setattr(Checkpointer, "__init__", stop)
        assert run("train", town.graph, "--out", "m", *settings()).code == 1
    assert Path("m.unfinished/checkpoint.safetensors").exists()


def _weights(model: str) -> bytes:
    return (Path(model) / WEIGHTS).read_bytes()
