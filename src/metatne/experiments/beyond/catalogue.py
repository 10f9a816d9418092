"""The studies by name, and the file of what they found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metatne.config import make_config, used_settings
from metatne.evaluation.results import ResultsFile
from metatne.evaluation.runner import short_fingerprint
from metatne.evidence.head import VERSION
from metatne.experiments.beyond.calibration import DRAWS, calibration
from metatne.experiments.beyond.growth import growth
from metatne.experiments.beyond.labelling import labelling
from metatne.experiments.beyond.parts import parts, parts_unlabelled
from metatne.experiments.beyond.shots import shots
from metatne.experiments.beyond.tasks import tasks
from metatne.experiments.beyond.trial import Lines, Trial
from metatne.experiments.beyond.unknown import COMPARED, unknown
from metatne.graph.datasets import open_graph
from metatne.graph.store import Graph

FILE = "beyond.jsonl"
KEY = ("study", "dataset", "trial", "config_hash")

Row = dict[str, Any]


@dataclass(frozen=True)
class BeyondStudy:
    """A question that the paper leaves open, and how it is answered."""

    run: Callable[[Trial], Lines]
    title: str
    along: str | None = None
    """What `at` of its lines is, where it draws a curve."""

    metric: str | None = "auc"
    """By which its lines are held against each other; None where they are not."""

    compared: Mapping[str, str] = field(default_factory=dict)
    """Series and the one that each is held against; without any, all are against the first."""

    note: str = ""
    """What one must know to read its table."""

    version: int = 1
    """Of what it does besides the head, which has a version too: other lines are run again."""


STUDIES = {
    "parts": BeyondStudy(parts, "The default without each of its parts"),
    "parts-unlabelled": BeyondStudy(
        parts_unlabelled, "The default without each of its parts, with unlabelled queries"
    ),
    "tasks": BeyondStudy(tasks, "Training tasks built with the graph in mind"),
    "unknown": BeyondStudy(
        unknown, "Labels that are partly unknown", "share hidden", compared=COMPARED
    ),
    "shots": BeyondStudy(
        shots,
        "From few examples to many",
        "positive examples, with twice as many negatives",
        version=3,  # 1: Planetoid had one seed for all trials; 2: nothing calibrated beyond 50
    ),
    "growth": BeyondStudy(growth, "Nodes that come after training", "share of new nodes"),
    "labelling": BeyondStudy(
        labelling,
        "What to label next",
        "labels added to the first 15",
        "average_precision",
        version=2,  # doubt was about the line of decisions
    ),
    "calibration": BeyondStudy(
        calibration,
        "What probabilities and intervals are worth",
        metric=None,
        version=2,  # 30/60 were the most examples
        note="A line for each number of examples, positives/negatives: means over test labels that "
        f"have nodes enough (*labels*, of one trial) and {DRAWS} draws of examples for each, with "
        "the true prior. *Probabilities to holders*: what the probabilities of the nodes asked "
        "about add up to, as a share of those that hold the label; 1 is right. *Calibration "
        "error*: how far they are from that tenth by tenth of the nodes, as a share of the "
        "holders; 1 is what a probability of 0 for all has. *Covered*: how many intervals of 95 % "
        "have the log-odds that all draws come to on average.",
    ),
}


def results_file(folder: Path) -> ResultsFile:
    """Where finished trials are: a line each, with all its cases."""
    return ResultsFile(folder / FILE, key=KEY, measured=("cases",))


def hash_of_study(name: str, graph: Graph, settings: Mapping[str, Any] = {}) -> str:
    """Names the very graph, the settings, the kind of head and of the study."""
    facts: Row = {"head version": VERSION, "graph": graph.fingerprint}
    if STUDIES[name].version > 1:
        facts["study version"] = STUDIES[name].version
    config = make_config(settings).model_dump() | {"head": "evidence"}  # whose studies these are
    described = json.dumps(used_settings(config) | facts)
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def run_study(
    name: str,
    reference: str,
    trials: Sequence[int],
    results: ResultsFile,
    *,
    data_dir: Path | None = None,
    settings: Mapping[str, Any] = {},
) -> Iterator[Row]:
    """The trials of a study, one by one; those that the file has are not run again.

    The `settings` are of MetaTNE, where they are not the default's.
    """
    done = {tuple(row[key] for key in KEY): row for row in results.rows()}
    graph = open_graph(reference, data_dir=data_dir)
    config_hash = hash_of_study(name, graph, settings)
    for number in trials:
        key = (name, graph.name, number, config_hash)
        if key not in done:
            trial = Trial(reference, number, data_dir, settings)
            row = dict(zip(KEY, key, strict=True))
            row |= {"graph": short_fingerprint(graph), "head_version": VERSION}
            row["cases"] = list(STUDIES[name].run(trial))
            results.append(row)
            done[key] = row
        yield done[key]
