"""A trained model on disk: `model.json`, `weights.safetensors` and `ids.arrow`.

No pickle, so loading a stranger's model runs none of the stranger's code. Each file's size
and SHA-256 stand in `model.json`, which has a checksum of itself; a model that is not whole is
refused, with the file named.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from metatne.config import Config, make_config
from metatne.device import resolve_device
from metatne.errors import ConfigError, GraphError, ModelFormatError
from metatne.evidence.model import EvidenceModel
from metatne.evidence.storage import from_tensors, to_tensors
from metatne.graph.disk import map_ids, write_ids
from metatne.graph.node_ids import NodeIds
from metatne.graph.source import GraphSource
from metatne.integrity import SEAL, is_whole, parse_json, sealed
from metatne.model import MetaTNENetwork
from metatne.quality import Quality
from metatne.storage import new_directory, read_steadily, write_json

FORMAT = "metatne-model"
FORMAT_VERSION = 3
UNSEALED = (1, 2)
"""Versions whose header has no checksum. The first had the paper's head alone."""

HEADER, WEIGHTS, IDS = "model.json", "weights.safetensors", "ids.arrow"


@dataclass(frozen=True)
class TrainedModel:
    """A network with all that is needed to use it and to know where it comes from."""

    scorer: MetaTNENetwork | EvidenceModel
    """What scores nodes for a novel label: the paper's network, or evidence (`config.head`)."""

    config: Config
    node_ids: NodeIds
    graph_name: str
    fingerprint: str
    known_labels: list[str]
    validation_labels: list[str]
    """On which it was measured, or the step chosen; the default head then knew these too."""

    best_step: int
    history: list[dict[str, Any]]
    graph_source: GraphSource | None = None
    """Where the graph is to be found again, if anybody has said."""

    quality: Quality | None = None
    """How it did beside controls, if that was measured."""

    @property
    def network(self) -> MetaTNENetwork:
        """The paper's network, where that is what was trained."""
        if isinstance(self.scorer, EvidenceModel):
            raise ConfigError(
                "this model has the head 'evidence', and no network; "
                "train one with the paper's head (--preset short or --preset paper)"
            )
        return self.scorer


def save_model(path: Path, model: TrainedModel, *, overwrite: bool = False) -> None:
    """Write the model as a directory, whole or not at all."""
    if overwrite and path.exists() and not (path / HEADER).is_file():
        raise ModelFormatError(
            f"{path} is not a saved model, so it is not overwritten; name another"
        )
    with new_directory(path, overwrite=overwrite) as folder:
        save_file(_tensors_of(model.scorer), folder / WEIGHTS)
        write_ids(folder / IDS, model.node_ids.array)
        header = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "libraries": {
                name: version_of(name) for name in ("metatne", "torch", "numpy", "safetensors")
            }
            | {"python": platform.python_version()},
            "graph": {
                "name": model.graph_name,
                "fingerprint": model.fingerprint,
                "num_nodes": len(model.node_ids),
            }
            | ({"source": model.graph_source.to_json()} if model.graph_source else {}),
            "config": model.config.model_dump(),
            "known_labels": model.known_labels,
            "validation_labels": model.validation_labels,
            "label_columns": label_columns(model.scorer),
            "best_step": model.best_step,
            "history": model.history,
            "quality": None if model.quality is None else model.quality.to_json(),
            "files": {name: _facts(folder / name) for name in (WEIGHTS, IDS)},
        }
        write_json(folder / HEADER, sealed(header))


def load_model(path: Path, *, device: str = "auto") -> TrainedModel:
    """Read a saved model onto a device; refuse one that is not whole."""
    return read_steadily(path, partial(_load, device=device))


def _load(path: Path, *, device: str) -> TrainedModel:
    header = _read_header(path)
    for name in (WEIGHTS, IDS):
        _check_file(path / name, header["files"][name])
    try:
        config = make_config(header["config"], source=str(path / HEADER))
        node_ids = NodeIds(map_ids(path / IDS))
        weights = load_file(path / WEIGHTS)
    except (ConfigError, GraphError, SafetensorError) as error:
        raise _broken(path, str(error)) from error
    try:
        names = header.get("label_columns", [])
        scorer = _scorer_of(weights, config, names, len(node_ids), device)
    except (RuntimeError, KeyError, ValueError, TypeError, IndexError) as error:
        raise _broken(path / WEIGHTS, f"it does not fit the settings: {error}") from error
    return TrainedModel(
        scorer=scorer,
        config=config,
        node_ids=node_ids,
        graph_name=header["graph"]["name"],
        fingerprint=header["graph"]["fingerprint"],
        known_labels=header["known_labels"],
        validation_labels=header["validation_labels"],
        best_step=header["best_step"],
        history=header["history"],
        graph_source=_source_of(path, header),
        quality=_quality_of(path, header),
    )


def _quality_of(path: Path, header: dict[str, Any]) -> Quality | None:
    quality = header.get("quality")  # which models of before do not have
    try:
        return None if quality is None else Quality.from_json(quality)
    except (TypeError, KeyError) as error:
        raise _broken(path / HEADER, f"its quality cannot be read ({error})") from error


def _source_of(path: Path, header: dict[str, Any]) -> GraphSource | None:
    source = header["graph"].get("source")  # which models of before do not have
    if source is None:
        return None
    try:
        return GraphSource.from_json(source)
    except ValueError as error:
        raise _broken(path / HEADER, str(error)) from error


def label_columns(scorer: MetaTNENetwork | EvidenceModel) -> list[str]:
    """The known labels by name that a description has columns for."""
    return list(scorer.label_names) if isinstance(scorer, EvidenceModel) else []


def _tensors_of(scorer: MetaTNENetwork | EvidenceModel) -> dict[str, torch.Tensor]:
    if isinstance(scorer, EvidenceModel):
        return to_tensors(scorer)
    return {name: w.cpu().contiguous() for name, w in scorer.state_dict().items()}


def _scorer_of(
    weights: dict[str, torch.Tensor],
    config: Config,
    label_names: list[str],
    num_nodes: int,
    device: str,
) -> MetaTNENetwork | EvidenceModel:
    if config.head == "evidence":
        model = from_tensors(weights, label_names)
        if model.description.num_nodes != num_nodes:
            raise ValueError(f"it describes {model.description.num_nodes} of {num_nodes} nodes")
        return model
    with torch.device("meta"):  # shapes without memory; the weights are put in their place
        network = MetaTNENetwork(num_nodes, config)
    # A file's tensors lie at any address; at the addresses that training has them, products
    # come out the same to the last bit. The embeddings, looked up only, stay mapped.
    weights |= {name: w.clone() for name, w in weights.items() if name != "embeddings"}
    network.load_state_dict(weights, assign=True)
    return network.to(resolve_device(device)).eval()


_EXPECTED: dict[str, type] = {
    "config": dict,
    "graph": dict,
    "files": dict,
    "known_labels": list,
    "validation_labels": list,
    "best_step": int,
    "history": list,
}


def check_is_model(path: Path) -> None:
    """Refuse what is not the directory of a saved model, without reading it."""
    if not path.exists():
        raise ModelFormatError(f"there is no model at {path}; train one with `metatne train`")
    if not (path / HEADER).is_file():
        raise ModelFormatError(
            f"{path} is not a saved model: it has no {HEADER}; "
            "a saved model is a directory that `metatne train` or MetaTNE.save wrote"
        )


def _read_header(path: Path) -> dict[str, Any]:
    check_is_model(path)
    file = path / HEADER
    try:
        header = parse_json(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise _broken(file, f"it cannot be read as JSON ({error})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFormatError(f"{file} is not the header of a saved model")
    version = header.get("version")
    if version not in (*UNSEALED, FORMAT_VERSION):
        raise ModelFormatError(
            f"{file}: expected format version {FORMAT_VERSION}, found {version!r}; "
            "use the version of metatne that wrote it, or train again"
        )
    if (version not in UNSEALED or SEAL in header) and not is_whole(header):
        raise _changed(file)
    if version == 1:
        header["config"] = {"head": "prototypes"} | (header.get("config") or {})
    for key, kind in _EXPECTED.items():
        if not isinstance(header.get(key), kind):
            raise _broken(
                file, f"expected {key!r} to be a {kind.__name__}, found {header.get(key)!r}"
            )
    if not all(isinstance(header["graph"].get(key), str) for key in ("name", "fingerprint")):
        raise _broken(file, "the graph's name and fingerprint are missing")
    if not all(isinstance(header["files"].get(name), dict) for name in (WEIGHTS, IDS)):
        raise _broken(file, f"expected the facts of {WEIGHTS} and {IDS}")
    return header


def _facts(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"size": file.stat().st_size, "sha256": digest}


def _check_file(file: Path, expected: dict[str, Any]) -> None:
    if not file.is_file():
        raise _broken(file, "it is missing")
    size = file.stat().st_size
    if size != expected.get("size"):
        cut = " (cut short)" if size < (expected.get("size") or 0) else ""
        raise _broken(file, f"expected {expected.get('size')} bytes, found {size}{cut}")
    if _facts(file)["sha256"] != expected.get("sha256"):
        raise _changed(file)


def _changed(file: Path) -> ModelFormatError:
    return _broken(file, "its content is not what was saved (its checksum differs)")


def _broken(file: Path, what: str) -> ModelFormatError:
    return ModelFormatError(f"{file} is damaged: {what}; copy the model again, or train it again")
