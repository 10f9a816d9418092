"""Where tensors live and how many threads work on them: the only place that chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock

import torch
from threadpoolctl import threadpool_limits

from metatne.errors import ConfigError
from metatne.parallel import Piece, Result, in_threads


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
    """Inside the block, every operation of PyTorch and BLAS works with one thread.

    Training and scoring are many small operations: a second thread for each gains little on
    an idle machine, loses 15 to 50 times on a busy one, and would make results depend on the
    number of threads. Several cores get pieces of the work instead (`torch_in_threads`).
    """
    _limits.enter()
    try:
        yield
    finally:
        _limits.leave()


class _Limits:
    """Limits of the whole process: the first block that enters sets them, the last resets them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._threads_before = 1
        self._blas: threadpool_limits | None = None

    def enter(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._threads_before = torch.get_num_threads()
                self._blas = threadpool_limits(1)
            torch.set_num_threads(1)

    def leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                assert self._blas is not None  # set by the first that entered
                self._blas.restore_original_limits()
                torch.set_num_threads(self._threads_before)


_limits = _Limits()


def torch_in_threads(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], *, with_gradients: bool = False
) -> list[Result]:
    """`in_threads` for work by PyTorch, whose settings are each thread's own."""

    def with_settings(piece: Piece) -> Result:
        torch.set_num_threads(1)
        with torch.inference_mode(not with_gradients):
            return work(piece)

    with one_thread():
        return in_threads(with_settings, pieces)
