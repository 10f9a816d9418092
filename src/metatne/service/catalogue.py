"""The models that are served, by name, with their graphs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from metatne.errors import GraphMismatchError, MetaTNEError, ModelFormatError, UnknownNodeError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.integrity import is_whole, parse_json, sealed
from metatne.prediction.support import Support
from metatne.saved import TrainedModel
from metatne.service.answers import Example
from metatne.service.name_search import NameSearch
from metatne.service.rankings import Ranking
from metatne.service.refusals import Refusal
from metatne.service.scoring import Question
from metatne.service.served_model import ServedModel, nearest_model
from metatne.storage import read_steadily, write_json

EXAMPLE = "example.json"
"""Beside a model: a novel label to begin with. It is no part of the model, which loads without."""

_log = logging.getLogger("metatne.service")


class Catalogue:
    """Models by name; empty until they are loaded."""

    def __init__(self) -> None:
        self._models: dict[str, ServedModel] = {}
        self.is_ready = False

    def load(
        self,
        paths: Sequence[Path],
        graphs: Sequence[Graph] = (),
        *,
        data_dir: Path | str | None = None,
    ) -> None:
        """Read the models; a graph that none of them was trained on is refused."""
        loaded = [
            load_served(name, path, graphs, data_dir=data_dir)
            for name, path in zip(unique_names(paths), paths, strict=True)
        ]
        known = {served.trained.fingerprint for served in loaded}
        for graph in graphs:
            if graph.fingerprint not in known:
                raise GraphMismatchError(
                    f"--graph: no model here was trained on {graph.name!r} "
                    f"({graph.fingerprint[:12]}); give the graph of a model, or leave it out"
                )
        self.add(loaded)

    def add(self, models: Sequence[ServedModel]) -> None:
        """Serve these, from now on."""
        self._models |= {served.name: served for served in models}
        self.is_ready = True

    def all(self) -> list[ServedModel]:
        """Every model, in the order they were named."""
        return list(self._models.values())

    def get(self, name: str) -> ServedModel:
        """The model of this name."""
        served = self.find(name)
        if served is None:
            raise Refusal(
                "unknown_model",
                f"there is no model {name!r}; {nearest_model(name, list(self._models))}",
            )
        return served

    def find(self, name: str) -> ServedModel | None:
        """The model of this name, if it is served."""
        self.check_ready()
        return self._models.get(name)

    def check_ready(self) -> None:
        """Refuse to answer before the models are loaded."""
        if not self.is_ready:
            raise Refusal(
                "loading",
                "the models are still being loaded; wait until /ready answers 200",
                headers={"Retry-After": "1"},
            )


def unique_names(paths: Sequence[Path]) -> list[str]:
    """The directories' names; of equal ones the second is called name-2."""
    names: list[str] = []
    for path in paths:
        name = path.absolute().name or "model"
        number = 1
        while (unique := name if number == 1 else f"{name}-{number}") in names:
            number += 1
        names.append(unique)
    return names


def load_served(
    name: str,
    path: Path,
    graphs: Sequence[Graph] = (),
    *,
    data_dir: Path | str | None = None,
) -> ServedModel:
    """A model ready to be asked, with its graph if that can be found.

    `data_dir` is where data sets are, if not where they are by default.
    """
    model, example = read_steadily(path, _read_model)
    if model.quality_ is not None and not model.quality_.is_better:
        _log.warning("model %r: %s", name, model.quality_.verdict())
    served = ServedModel(
        name=name,
        model=model,
        graph=_graph_of(name, model.trained_, graphs, data_dir),
        example=example,
        search=NameSearch(model.trained_.node_ids.array),
    )
    _warm_up(served)
    return served


def _read_model(path: Path) -> tuple[MetaTNE, Example | None]:
    """What lies in a model's directory, all of it of one training."""
    model = MetaTNE.load(path)
    return model, _read_example(path, model.trained_)


def _warm_up(served: ServedModel) -> None:
    """Make now what the first question would make, and somebody would wait for."""
    served.card(0)
    if served.is_evidence:
        _ = served.evidence.label_gaps  # which reasons are told by
    if served.is_evidence and len(served.node_ids) > 2:
        first, second = np.arange(1), np.arange(1, 2)
        Ranking.of(Question(served, Support(first, second), None))


def write_example(path: Path, example: Example) -> None:
    """Keep a novel label beside the model at `path`, for whoever opens it first."""
    write_json(path / EXAMPLE, sealed(example.model_dump(mode="json")))


def _graph_of(
    name: str, trained: TrainedModel, graphs: Sequence[Graph], data_dir: Path | str | None
) -> Graph | None:
    """The graph that the model was trained on, and no other: given, or where it came from."""
    for graph in graphs:
        if graph.fingerprint == trained.fingerprint:
            return graph
    if trained.graph_source is None:
        _log.warning("model %r does not say where its graph is; give it with --graph", name)
        return None
    try:
        graph = trained.graph_source.open(data_dir=data_dir)
    except (MetaTNEError, OSError) as error:
        _log.warning("the graph of model %r cannot be opened: %s", name, error)
        return None
    if graph.fingerprint != trained.fingerprint:
        _log.warning(
            "the graph at %s has changed since model %r was trained, so it is not shown",
            trained.graph_source.reference,
            name,
        )
        return None
    return graph


def _read_example(path: Path, trained: TrainedModel) -> Example | None:
    file = path / EXAMPLE
    if not file.is_file():
        return None
    try:
        found = parse_json(file.read_text(encoding="utf-8"))
        example = Example.model_validate(found, strict=True)
        is_of_before = set(found) == set(Example.model_fields)  # and has no checksum
        if not is_of_before and not is_whole(found):
            raise ValueError("its content is not what was saved")
        trained.node_ids.positions([*example.positives, *example.negatives])
    except (ValueError, ValidationError, OSError, UnknownNodeError) as error:
        raise ModelFormatError(
            f"{file} is damaged: {error}; remove it, or write it again with `metatne demo`"
        ) from error
    return example
