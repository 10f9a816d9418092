"""Loops over bytes, ids and edges, compiled when they are first called.

Graphs are part of every command, and most commands, `metatne datasets` or any `--help`, run
none of these loops; importing numba would be most of their time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

_lock = RLock()


def loop(function: Function) -> Function:
    """`function`, which becomes machine code (`metatne.compiled`) by its first call."""
    return cast(Function, _Loop(inspect.unwrap(function)))


class _Loop:
    """A function that may call other loops by their names in its module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._kernel: Callable[..., Any] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return self.kernel()(*args)

    def kernel(self) -> Callable[..., Any]:
        """The compiled function."""
        with _lock:  # threads may call one loop for the first time together
            if self._kernel is None:
                from metatne.compiled import compiled

                # Compiled code can call compiled code only, so the names that it uses are
                # given to the kernels of the loops that have them.
                names = self._function.__globals__
                for name in self._function.__code__.co_names:
                    if isinstance(names.get(name), _Loop):
                        names[name] = names[name].kernel()
                self._kernel = compiled(self._function)
        return self._kernel
