"""Loops as machine code, behind decorators that type checkers can see through."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

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
