"""`metatne predict`, `explain`, `relate`, `suggest` and `update` with the default head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.special import logit

from cli.conftest import Town
from cli.running import Run
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph

SETTINGS = {"positives": 4, "negatives": 6, "head_steps": 20, "head_tasks": 40}
SETTINGS |= {"validation_tasks": 20}


@pytest.fixture(scope="module")
def model(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evidence") / "model"
    MetaTNE(**SETTINGS).fit(Graph.open(town.graph)).save(path)
    return path


@pytest.fixture(scope="module")
def people(model: Path) -> list[str]:
    return [str(name) for name in MetaTNE.load(model).trained_.node_ids.take(range(12))]


def examples(people: list[str]) -> list[str]:
    given = [("-p", name) for name in people[:3]] + [("-n", name) for name in people[3:6]]
    return [part for pair in given for part in pair]


def test_predictions_have_intervals_and_marks(run: Run, model: Path, people: list[str]) -> None:
    done = run("predict", model, *examples(people), "--top", 5)
    assert done.code == 0
    table = MetaTNE.load(model).rank(positives=people[:3], negatives=people[3:6], top=5)
    titles = next(line for line in done.err.splitlines() if "prob." in line)
    for line, row in zip(done.out.splitlines(), table.itertuples(), strict=True):
        assert line[titles.index("prob.") :].startswith(f"{row.probability:.4f}")
        assert line[titles.index("low") :].startswith(f"{row.low:.4f}")
        assert line[titles.index("high") :].startswith(f"{row.high:.4f}")
        assert line[titles.index("node") :] == row.node
        assert line.split()[0] == str(row.rank)
        assert f"{row.probability:.4f} {'+' if row.holds else ' '} {row.low:.4f}" in line
    done = run("predict", model, *examples(people), "--prior", "1.5")
    assert (done.code, done.out) == (2, "")
    assert "prior: expected a share above 0 and below 1, found 1.5" in done.err


def test_one_negative_is_said_to_be_too_few(run: Run, model: Path, people: list[str]) -> None:
    def told(*negatives: str) -> str:
        given = [part for name in negatives for part in ("-n", name)]
        return run("predict", model, "-p", people[0], "-p", people[1], *given).err

    assert "with one negative" in told(people[3])
    assert "with one negative" not in told(people[3], people[4])
    assert "with one negative" not in told()


def test_how_many_are_taken_to_hold_it_is_said(run: Run, model: Path, people: list[str]) -> None:
    """Of all nodes, however many are shown, and at which prior."""
    table = MetaTNE.load(model).rank(positives=people[:3], negatives=people[3:6], prior=0.2)
    for shown in (("--top", 2), ("--output", "ranking.csv")):
        done = run("predict", model, *examples(people), "--prior", "0.2", *shown)
        assert f"+: {table['holds'].sum():,} of all nodes asked about" in done.err
        assert "with a prior of 0.2 (yours)" in done.err
    told = run("predict", model, *examples(people)).err
    typical = MetaTNE.load(model).rank(positives=people[:3], negatives=people[3:6]).attrs["prior"]
    assert f"prior of {typical:.3g} (that of a typical known label" in told


@pytest.mark.parametrize("command", ["relate", "suggest", "explain", "predict"])
def test_what_few_examples_mean_is_said(
    command: str, run: Run, model: Path, people: list[str]
) -> None:
    node = ("--node", people[-1]) if command == "explain" else ()
    alone = run(command, model, *node, "-p", people[0]).err
    assert "no negatives were given" in alone
    assert "with fewer than 5 positives the answer is a rough one" in alone
    assert ("there are no intervals" in alone) == (command == "predict")
    many = [part for name in people[:5] for part in ("-p", name)]
    lacking = [part for name in people[5:7] for part in ("-n", name)]
    told = run(command, model, *node, *many, *lacking).err
    assert "with fewer than 5 negatives the answer is a rough one" in told
    assert "no intervals" not in told
    lacking = [part for name in people[5:10] for part in ("-n", name)]
    enough = run(command, model, *node, *many, *lacking).err
    assert "rough" not in enough
    assert "no negatives" not in enough


def test_only_one_node_is_explained(run: Run, model: Path, people: list[str]) -> None:
    done = run("explain", model, "--node", people[6], "--node", people[7], *examples(people))
    assert (done.code, done.out) == (2, "")
    assert f"--node: expected one node, found 2 ({people[6]}, {people[7]})" in done.err


def test_reasons_add_up(run: Run, model: Path, people: list[str]) -> None:
    done = run("explain", model, "--node", people[7], *examples(people), "--top", 2)
    assert done.code == 0
    lines = done.out.splitlines()
    end = next(place for place, line in enumerate(lines) if "log-odds in all" in line)
    *parts, total = [float(line.split()[0]) for line in lines[: end + 1]]
    assert sum(parts) == pytest.approx(total, abs=0.01)
    table = MetaTNE.load(model).rank(positives=people[:3], negatives=people[3:6])
    probability = float(table.set_index("node")["probability"].loc[people[7]])
    assert total == pytest.approx(logit(probability), abs=0.01)
    assert "4 other examples" in done.out
    given: dict[str, Any] = {"positives": people[:3], "negatives": people[3:6]}
    behind = MetaTNE.load(model).explain(people[7], **given).attrs
    first, *_, last = behind["shared_neighbours"]
    shared, holds = lines[end + 1 :]
    told = ", ".join(first["with"][:3]) + (
        f" and {len(first['with']) - 3} more" if len(first["with"]) > 3 else ""
    )
    assert shared.startswith(f"shared neighbours: {first['node']} (of {told})")
    assert shared.endswith(f" and {len(behind['shared_neighbours']) - 2} more")
    assert last["node"] not in shared
    strongest = behind["labels"][0]
    assert holds.startswith(f"holds: {strongest['label']} {strongest['weight']:+.3f}")
    done = run("explain", model, "--node", people[0], *examples(people))
    assert done.code == 2
    assert "is an example already; ask about another" in done.err


def test_shared_neighbours_that_are_not_named_are_counted(
    run: Run, model: Path, people: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library names no more than so many, whatever --top says."""
    given: dict[str, Any] = {"positives": people[:3], "negatives": people[3:6]}
    count = MetaTNE.load(model).explain(people[7], **given).attrs["num_shared_neighbours"]
    assert count > 2
    monkeypatch.setattr("metatne.prediction.explanation.MOST_SHARED", 1)
    done = run("explain", model, "--node", people[7], *examples(people), "--top", 200)
    (told,) = [line for line in done.out.splitlines() if line.startswith("shared neighbours:")]
    assert told.endswith(f" and {count - 1} more")


def test_relations_and_suggestions(run: Run, model: Path, people: list[str]) -> None:
    done = run("relate", model, *examples(people), "--top", 2)
    assert done.code == 0
    weights = [float(line.split()[0]) for line in done.out.splitlines()]
    assert len(weights) == 4
    assert weights == sorted(weights, reverse=True)
    assert done.err.splitlines()[1].split() == ["weight", "label"]
    done = run("suggest", model, *examples(people), "--number", 3)
    assert done.code == 0
    trained = MetaTNE.load(model)
    given: dict[str, Any] = {"positives": people[:3], "negatives": people[3:6]}
    chances = trained.rank(**given).set_index("node")["probability"]
    expected = [f"{chances[node]:.4f}  {node}" for node in trained.suggest(3, **given)]
    assert done.out.splitlines() == expected
    assert done.err.splitlines()[-1] == "prob.   node"


def test_mistakes_are_said(run: Run, town: Town, model: Path, people: list[str]) -> None:
    done = run("relate", model)
    assert (done.code, done.out) == (2, "")
    assert "expected at least 1 node that holds the label" in done.err
    done = run("suggest", town.model, *examples(people))
    assert done.code == 2
    assert "cannot explain, relate, suggest" in done.err


def test_a_model_is_updated_for_new_nodes(
    run: Run, model: Path, people: list[str], town: Town, tmp_path: Path
) -> None:
    edges = tmp_path / "edges.csv"
    new = [f'newcomer,"{name}"' for name in people[:4]]
    edges.write_text(town.edges.read_text().rstrip("\n") + "\n" + "\n".join(new) + "\n")
    labels = tmp_path / f"labels{town.labels.suffix}"
    labels.write_text(town.labels.read_text().rstrip("\n") + "\nnewcomer,unheard of\n")
    made = run("graph", "import", edges, "--labels", labels, "--out", "larger")
    assert made.code == 0, made.err
    done = run("update", model, "larger", "--out", "updated")
    assert done.code == 0, done.err
    assert "1 new" in done.err
    assert "1 of the new nodes are taken to lack all of the model's labels" in done.err
    assert "none that it learned from (" in done.err
    assert "unheard of): those that are new" in done.err
    found = run("predict", "updated", *examples(people), "--top", 1000)
    assert "newcomer" in found.out
    again = run("update", model, "larger", "--out", "updated")
    assert again.code == 2
    assert "--overwrite" in again.err
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("newcomer,other\n")
    assert run("graph", "import", fewer, "--out", "fewer").code == 0
    refused = run("update", model, "fewer", "--out", "elsewhere")
    assert refused.code == 2
    assert "none of the model's" in refused.err
    assert "is it another graph?" in refused.err
    assert not (tmp_path / "elsewhere").exists()


def test_nodes_that_an_update_judges_otherwise_are_told(run: Run, model: Path, town: Town) -> None:
    made = ("graph", "import", town.edges, "--labels", town.labels)
    assert run(*made, "--unlisted-unknown", "--out", "unlooked").code == 0
    assert run(*made, "--out", "looked").code == 0
    assert run("update", model, "unlooked", "--out", "unknowing").code == 0
    unannotated = Graph.open(Path("unlooked")).labels.unannotated
    assert unannotated is not None
    num_bare = int(unannotated.sum())
    done = run("update", "unknowing", "looked", "--out", "sure")
    assert done.code == 0, done.err
    assert f"{num_bare:,} of the nodes of before, whose labels the model did not know" in done.err
    same = run("update", "unknowing", "unlooked", "--out", "unsure")
    assert same.code == 0, same.err
    assert "of the nodes of before" not in same.err
    back = run("update", "sure", "unlooked", "--out", "unsure again")
    assert f"{num_bare:,} of the nodes of before, which lacked all labels" in back.err
