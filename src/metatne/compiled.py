"""Loops as machine code, behind a decorator that type checkers can see through."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function` as machine code, kept on disk between runs; it runs without the GIL.

    Tests check shapes by wrapping every function, which numba cannot read; so it is the
    function inside that is compiled.
    """
    return cast(Function, numba.njit(cache=True, nogil=True)(inspect.unwrap(function)))
