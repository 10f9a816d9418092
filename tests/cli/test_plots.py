"""Pictures from the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import Town, person
from cli.running import Run, settings
from metatne.cli.plots import plot_ranking

PNG = b"\x89PNG\r\n\x1a\n"


def examples() -> list[str]:
    return [part for n in (1, 2, 3) for part in ("-p", person(n))] + ["-n", person(60)]


def test_a_ranking_is_drawn(run: Run, town: Town) -> None:
    done = run("predict", town.model, *examples(), "--plot", "ranking.png")
    assert done.code == 0
    assert "drew ranking.png" in done.err
    assert len(done.out.splitlines()) == 20, "the ranking is shown all the same"
    assert Path("ranking.png").read_bytes().startswith(PNG)


def test_a_training_is_drawn(run: Run, town: Town) -> None:
    done = run("train", town.graph, "--out", "model", "--plot", "history.svg", *settings())
    assert done.code == 0, done.err
    drawn = Path("history.svg").read_text()
    assert "<svg" in drawn


@pytest.mark.parametrize("command", ["predict", "train"])
def test_what_cannot_be_drawn_is_said_first(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    arguments = {
        "predict": ["predict", town.model, *examples()],
        "train": ["train", town.graph, "--out", "model", *settings()],
    }[command]
    done = run(*arguments, "--plot", "ranking.doc")
    assert done.code == 2
    assert "--plot: expected a file that ends in .png, .svg, .pdf, found 'ranking.doc'" in done.err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = run(*arguments, "--plot", "ranking.png")
    assert done.code == 2
    assert "pip install 'metatne[plot]'" in done.err
    assert not Path("model").exists()


def test_any_ranking_can_be_drawn(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "node": ["$a$", "b", "c", "d"],
            "probability": [0.9, 0.6, 0.4, 0.1],
            "low": [0.8, 0.5, 0.2, 0.0],
            "high": [1.0, 0.7, 0.5, 0.3],
            "holds": [True, True, False, False],
        }
    )
    table.attrs["decision_line"] = 0.55
    mixed = table.assign(holds=[True, False, True, False])
    plain = table[["node", "probability"]]
    for number, some in enumerate((table, mixed, plain, plain.head(1))):
        plot_ranking(some, tmp_path / f"{number}.svg")
        assert "decision (0.550)" in (tmp_path / f"{number}.svg").read_text()
