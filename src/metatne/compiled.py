"""Loops as machine code, behind decorators that type checkers can see through."""

from __future__ import annotations

import atexit
import hashlib
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from platformdirs import user_cache_path

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_directory(package: Path) -> Path:
    """Where machine code is kept, in a folder of its own for this source.

    numba looks for changes only in the file of the function that it loads, not in those of
    the functions copied into it; and where the package is installed it may not write.
    """
    sources = sorted(path.read_bytes() for path in package.rglob("*.py"))
    ours = [source for source in sources if b"metatne.compiled" in source or b"njit" in source]
    name = hashlib.sha256(b"\0".join(ours)).hexdigest()[:16]
    directory = user_cache_path("metatne") / "compiled" / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        # Numba unpickles what it finds, so never a name that somebody else could have taken.
        directory = Path(tempfile.mkdtemp(prefix="metatne-compiled-"))
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


if "NUMBA_CACHE_DIR" not in os.environ:
    # Numba makes the names of its settings while it runs, so that no type checker knows them.
    numba.config.CACHE_DIR = str(_cache_directory(Path(__file__).parent))  # type: ignore[attr-defined]

_MAY_REORDER = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Function) -> Function:
    """`function` as machine code, kept on disk between runs; it runs without the GIL.

    Tests check shapes by wrapping every function, which numba cannot read; so it is the
    function inside that is compiled.
    """
    return cast(Function, numba.njit(cache=True, nogil=True)(inspect.unwrap(function)))


def compiled_for_sums(function: Function) -> Function:
    """As `compiled`, with sums of floats in any order, so that they use the whole register.

    NaN and infinity keep their meaning, and the order is the same in every run.
    """
    compiler = numba.njit(cache=True, nogil=True, fastmath=_MAY_REORDER)
    return cast(Function, compiler(inspect.unwrap(function)))


def compiled_in_place(function: Function) -> Function:
    """As `compiled_for_sums`, for loops over rows of arrays that are given, and of none other.

    They make no arrays, so views need not be counted, which in an inner loop would take longer
    than the arithmetic, the more so with several threads. A division by zero is infinite or
    NaN, as in NumPy: looking for zeros would take numbers one by one.
    """
    return _in_place(function, is_part=False)


def part_in_place(function: Function) -> Function:
    """A part of functions that are `compiled_in_place`, into which it is copied."""
    return _in_place(function, is_part=True)


def _in_place(function: Function, *, is_part: bool) -> Function:
    options: dict[str, Any] = {
        "fastmath": _MAY_REORDER,
        "error_model": "numpy",
        "forceinline": is_part,
        "_nrt": False,  # numba's runtime, which makes arrays and counts their users
    }
    compiler = numba.njit(cache=True, nogil=True, **options)
    return cast(Function, compiler(inspect.unwrap(function)))


LINES = 128
"""Bytes that memory hands out at once: a cache line, and the one beside it."""


@part_in_place
def prefetch(array: np.ndarray[Any, Any], row: int) -> None:
    """Ask for a row of a contiguous array that is soon read or written; compiled code only.

    A row that is not in the cache is waited for longer than it is worked on. It comes into the
    second-level cache: the first takes fewer requests at a time.
    """
    start = array.ctypes.data + row * array.strides[0]
    for offset in range(0, array.strides[0], LINES):
        _prefetch_line(start + offset)  # type: ignore[call-arg] # numba adds the context


@intrinsic
def _prefetch_line(_typing_context: Any, address: Any) -> Any:
    """The processor's instruction for it, which numba has no name for."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        to_read, to_second_level, data = flag(0), flag(2), flag(1)
        place = builder.inttoptr(arguments[0], pointer)
        builder.call(instruction, [place, to_read, to_second_level, data])
        return context.get_dummy_value()

    return numba.void(address), generate
