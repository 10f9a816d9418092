"""One seed, split into named generators.

A draw depends on the seed, the name of what is drawn and a counter (a step, a trial),
never on what was drawn before. So a resumed run needs no saved generator state, and the
number of threads cannot change a result, nor that of workers beyond rounding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derive_seed(seed: int, name: str, counter: int = 0) -> int:
    """63 bits that belong to this seed, name and counter alone."""
    digest = hashlib.blake2b(f"{seed}/{name}/{counter}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def numpy_generator(seed: int, name: str, counter: int = 0) -> np.random.Generator:
    """A NumPy generator of its own for this seed, name and counter."""
    return np.random.Generator(np.random.Philox(derive_seed(seed, name, counter)))


@contextmanager
def torch_seed(seed: int, name: str, counter: int = 0) -> Iterator[None]:
    """Inside the block PyTorch draws from this seed, name and counter; then all is as before."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, name, counter))
        yield
