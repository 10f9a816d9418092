"""A training that was stopped, in one file: tensors, and a JSON header with the rest.

One file is replaced by one rename, so a kill at any moment leaves the last whole checkpoint. A
checksum is of all that is in it, so a training never goes on from numbers that it did not save.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from metatne.config import Config
from metatne.errors import ConfigError, GraphMismatchError, ModelFormatError
from metatne.integrity import checksum, parse_json
from metatne.sampling.splits import LabelSplit
from metatne.storage import new_file
from metatne.training.trainer import Stopped, Trainer, TrainingState, Validation

FORMAT_VERSION = 4
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")

SHARE_OF_TIME = 0.1
"""At most so much of a training goes into saving it: tables of millions of nodes take long."""


class Checkpointer:
    """Saves a training at the end of a step, now and then, and stops it when asked to.

    Without a path nothing is saved, and a stop loses what was learned.
    """

    def __init__(
        self,
        path: Path | None,
        fingerprint: str,
        split: LabelSplit,
        *,
        every_seconds: float = 30.0,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._path, self._fingerprint, self._split = path, fingerprint, split
        self._every_seconds, self._should_stop = every_seconds, should_stop
        self._saved, self._saving_took = time.monotonic(), 0.0

    def __call__(self, trainer: Trainer) -> None:
        """Save if it is time; raise `Stopped` after saving if that was asked for."""
        stops = self._should_stop()
        now = time.monotonic()
        pause = max(self._every_seconds, self._saving_took / SHARE_OF_TIME)
        if (stops or now - self._saved >= pause) and self._path is not None:
            save_checkpoint(self._path, trainer, self._fingerprint, self._split)
            self._saved = time.monotonic()
            self._saving_took = self._saved - now
        if stops:
            raise Stopped


def save_checkpoint(path: Path, trainer: Trainer, fingerprint: str, split: LabelSplit) -> None:
    """Write all that `trainer` needs to go on."""
    state = trainer.state
    tensors = {f"network.{name}": weight for name, weight in trainer.network.state_dict().items()}
    tensors["contexts"] = trainer.contexts
    if trainer.average is not None:
        average = trainer.average.network.state_dict()
        tensors |= {f"average.{name}": weight for name, weight in average.items()}
    tensors |= {f"best.{name}": weight for name, weight in state.best_weights.items()}
    for kind, rows in trainer.row_optimisers.items():
        tensors |= {f"{kind}.{name}": tensor for name, tensor in rows.state().items()}
    for place, moments in trainer.transformation_optimiser.state_dict()["state"].items():
        tensors |= {f"transformation.{place}.{name}": moments[name] for name in _MOMENTS}
    header = {
        "version": FORMAT_VERSION,
        "fingerprint": fingerprint,
        "split": _split_lists(split),
        "config": trainer.config.model_dump(),
        "step": state.step,
        "num_structural": state.num_structural,
        "best_step": state.best_step,
        "looked_at": trainer.average.looked_at if trainer.average is not None else None,
        "seconds": state.seconds,
        "losses": state.losses,
        "history": [asdict(validation) for validation in state.history],
    }
    stored = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(header)
    with new_file(path) as temporary:
        save_file(
            stored,
            temporary,
            metadata={"checkpoint": text, "checksum": _checksum(text, stored)},
        )


def restore_checkpoint(path: Path, trainer: Trainer, fingerprint: str, split: LabelSplit) -> None:
    """Put `trainer` where it left off; refuse a checkpoint of another graph or settings."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            text = metadata["checkpoint"]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        header = parse_json(text)
        # Of a version that is not this one, the version is what is told of.
        if header["version"] == FORMAT_VERSION and metadata["checksum"] != _checksum(text, tensors):
            raise ValueError("its content is not what was saved")
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise ModelFormatError(
            f"{path}: not a whole checkpoint ({error}); delete it and train from the start"
        ) from error
    _check_same(path, header, trainer.config, fingerprint, split)
    trainer.network.load_state_dict(_part(tensors, "network"))
    trainer.contexts.copy_(tensors["contexts"])
    if trainer.average is not None:
        trainer.average.network.load_state_dict(_part(tensors, "average"))
        trainer.average.looked_at = header["looked_at"]
    for kind, rows in trainer.row_optimisers.items():
        rows.load_state(_part(tensors, kind))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _part(tensors, "transformation").items():
        place, moment = name.split(".")
        moments.setdefault(int(place), {})[moment] = tensor
    optimiser = trainer.transformation_optimiser
    optimiser.load_state_dict(optimiser.state_dict() | {"state": moments})
    trainer.state = TrainingState(
        step=header["step"],
        num_structural=header["num_structural"],
        history=[Validation(**row) for row in header["history"]],
        best_step=header["best_step"],
        best_weights={n: t.to(trainer.device) for n, t in _part(tensors, "best").items()},
        seconds=header["seconds"],
        losses=header["losses"],
    )


def _checksum(header: str, tensors: dict[str, Tensor]) -> str:
    """Of the header, and of every tensor with its name, type and shape."""
    parts: list[bytes | memoryview] = [header.encode()]
    for name in sorted(tensors):
        array = tensors[name].numpy()
        parts += [f"{name} {array.dtype.str} {array.shape}".encode(), array.reshape(-1).data]
    return checksum(*parts)


def _check_same(
    path: Path, header: dict[str, Any], config: Config, fingerprint: str, split: LabelSplit
) -> None:
    if header["version"] != FORMAT_VERSION:
        raise ModelFormatError(
            f"{path}: expected checkpoint version {FORMAT_VERSION}, found {header['version']}; "
            "resume with the version of metatne that wrote it, or train from the start"
        )
    other_graph = GraphMismatchError(
        f"{path}: this training was started on another graph or other labels "
        f"(fingerprint {header['fingerprint'][:12]}, this graph has {fingerprint[:12]}); "
        "give the same graph, or train from the start"
    )
    if header["fingerprint"] != fingerprint:
        raise other_graph
    # The same training may go on elsewhere, so the device may differ.
    now, then = config.model_dump(exclude={"device"}, mode="json"), dict(header["config"])
    changed = [
        f"{key} was {then.get(key)!r}, is {now[key]!r}" for key in now if now[key] != then.get(key)
    ]
    if changed:
        raise ConfigError(
            f"{path}: this training was started with other settings: {'; '.join(changed)}; "
            "resume with the same settings, or train from the start"
        )
    # The settings choose the split (the seed, say), so it is they that are named if they differ.
    if header["split"] != _split_lists(split):
        raise other_graph


def _split_lists(split: LabelSplit) -> dict[str, list[int]]:
    lists = {"known": split.known.tolist(), "validation": split.validation.tolist()}
    if split.asked is not None:
        lists["asked"] = np.flatnonzero(split.asked).tolist()
    return lists


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors below `prefix.`, without it."""
    return {
        name.removeprefix(f"{prefix}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}.")
    }
