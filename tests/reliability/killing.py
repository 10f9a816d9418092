"""A harness for kill -9: start some work in a process of its own, end it at a random moment, look.

The processes are forked from one that has imported everything, so a kill costs milliseconds.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from typing import Any
from unittest import mock

from reliability.victims import WARM_UP

START_SECONDS = 120.0
"""That a victim may take to begin, on a machine that is busy with other things."""


@dataclass(frozen=True)
class Death:
    """What a victim had said before it ended, and whether that was by our hand."""

    said: list[Any]
    was_killed: bool


def kill_at_random(
    work: Callable[..., None], *arguments: object, seed: int, within: float | None = None
) -> Death:
    """Run `work(say, *arguments)`, and kill it at a moment that the seed draws.

    That is up to `within` seconds after it first said something; if not given, after it did so
    for the second time, up to as long as it took in between: it then works on the next piece.
    What ends before is not killed.
    """
    context = forking()
    ours, theirs = context.Pipe(duplex=False)
    victim = context.Process(target=_run, args=(work, theirs, *arguments))
    victim.start()
    theirs.close()
    said = [_hear(ours)]
    if within is None:
        begun = time.monotonic()
        said.append(_hear(ours))
        within = time.monotonic() - begun
    time.sleep(random.Random(seed).random() * within)
    victim.kill()
    said += _all_said(ours)
    victim.join()
    ours.close()
    assert victim.exitcode in (0, -9), f"the victim failed by itself: {victim.exitcode}"
    death = Death(said, was_killed=victim.exitcode == -9)
    victim.close()
    return death


def run_to_the_end(work: Callable[..., None], *arguments: object) -> None:
    """Run `work(say, *arguments)` without harm."""
    run_side_by_side((work, *arguments))


def run_side_by_side(*works: tuple[Any, ...]) -> None:
    """Run several at once, each of them a function and its arguments, to their ends."""
    processes = [
        forking().Process(target=_run, args=(work, None, *arguments)) for work, *arguments in works
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
        process.close()


@contextmanager
def running(work: Callable[..., None], *arguments: object) -> Iterator[None]:
    """`work(say, *arguments)` from its first word on, beside the block, killed at its end."""
    context = forking()
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(work, theirs, *arguments))
    process.start()
    theirs.close()
    try:
        _hear(ours)
        yield
        assert process.is_alive(), "it was to go on all the time"
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def forking() -> ForkServerContext:
    """Processes that are forked from one which has imported the victims."""
    context = ForkServerContext()
    context.set_forkserver_preload(["reliability.victims"])
    # Python 3.11 does not hand on where to look for modules.
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(sys.path), WARM_UP: "1"}):
        forkserver.ensure_running()
    return context


def _run(work: Callable[..., None], pipe: Connection | None, *arguments: object) -> None:
    work((lambda value: None) if pipe is None else pipe.send, *arguments)


def _hear(pipe: Connection) -> Any:
    assert pipe.poll(START_SECONDS), "the victim did not begin"
    return pipe.recv()


def _all_said(pipe: Connection) -> list[Any]:
    said = []
    try:
        while True:
            said.append(pipe.recv())
    except EOFError:
        return said
