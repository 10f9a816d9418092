"""A village of forty people and three clubs, as files, graphs and models to make mistakes with."""

from __future__ import annotations

import shutil
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from metatne.config import preset
from metatne.estimator import MetaTNE
from metatne.graph.readers import read_graph
from metatne.quality import QualityWarning
from metatne.saved import WEIGHTS
from metatne.training.trainer import Stopped

NAMES = (
    *("anna", "bela", "carl", "dora", "emil", "fred", "gina", "hans", "ida", "jan"),
    *("kurt", "lena", "mara", "nils", "olga", "paul", "rosa", "sven", "tina", "udo"),
)
PEOPLE = [f"{first} {last}" for last in ("stone", "wood") for first in NAMES]
CLUBS = ("chess", "choir", "football")
SMALL = (
    "--preset short --set positives=3 --set negatives=4 --set num_steps=2 --set dim=16 "
    "--set validation_tasks=2"
)


def prepare_village() -> None:
    """Files, a graph and a model that most cases start from."""
    edges = [(i, (i + step) % len(PEOPLE)) for step in (1, 3, 8) for i in range(len(PEOPLE))]
    write_file("edges.csv", "\n".join(f"{PEOPLE[i]},{PEOPLE[j]}" for i, j in edges))
    held = [
        f"{person},{club}"
        for number, club in enumerate(CLUBS)
        for i, person in enumerate(PEOPLE)
        if i % (number + 2) == 0
    ]
    write_file("labels.csv", "\n".join(["node,label", *held]))
    village = read_graph("edges.csv", "labels.csv", name="village")
    village.save("village")
    read_graph("edges.csv", name="hamlet").save("hamlet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)  # a village teaches little
        MetaTNE(**_settings()).fit(village).save("model")
    shutil.copytree("model", "cut")
    weights = Path("cut") / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:1000])
    with suppress(Stopped):
        MetaTNE(**_settings()).fit(
            village,
            checkpoint=Path("stopped.unfinished/checkpoint.safetensors"),
            should_stop=lambda: True,
        )


def _settings() -> dict[str, Any]:
    pairs = (part.split("=") for part in SMALL.split() if "=" in part)
    return preset("short") | {key: int(value) for key, value in pairs}


def write_smaller_graph() -> None:
    lines = Path("edges.csv").read_text().splitlines()
    write_file("smaller.csv", "\n".join(lines[:-1]))
    read_graph("smaller.csv", "labels.csv").save("smaller")


def write_file(name: str, text: str) -> None:
    Path(name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
