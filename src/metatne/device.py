"""Where tensors live: the only place that chooses a device."""

from __future__ import annotations

import torch

from metatne.errors import ConfigError


def resolve_device(name: str = "auto") -> torch.device:
    """The device called `name`; "auto" takes CUDA, then Apple's MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(
            f"device: expected 'auto', 'cpu', 'cuda', 'cuda:N' or 'mps', found {name!r}"
        ) from error
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not available.get(device.type, False):
        raise ConfigError(f"device: {name!r} is not available on this machine; use 'auto' or 'cpu'")
    return device
