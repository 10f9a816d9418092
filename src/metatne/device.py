"""Where tensors live and how many threads work on them: the only place that chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

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


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside the block, PyTorch and BLAS work with one thread.

    Training and scoring are many small steps: a second thread gains little on an idle
    machine, loses 15 to 50 times on a busy one, and would make results depend on the number
    of threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
