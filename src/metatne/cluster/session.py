"""Ray for the length of a block: a cluster that exists, or a small one on this machine."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import ray

from metatne.errors import InputError, MetaTNEError, RunError
from metatne.parallel import num_cores

OBJECT_STORE_BYTES = 512 * 2**20
"""Shared memory of a local Ray; scores beyond it are spilled to its temporary directory."""

IDLE_MILLISECONDS = 60_000
"""How long a local Ray keeps an idle process; a new one would take seconds to load PyTorch."""

QUIETLY = {"log_to_driver": False, "logging_level": logging.ERROR}

CONNECT_SECONDS = 5.0
"""How long a cluster has to answer; Ray itself would try for minutes, and then end the process."""


@contextmanager
def ray_session(address: str | None = None, *, num_cpus: int | None = None) -> Iterator[None]:
    """Join the cluster at `address`, or start a Ray of so many CPUs here and end it with the block.

    A session that this process has already is used and left as it is.
    """
    if address is not None:
        _check_answers(address)
    if ray.is_initialized():
        yield
    elif address is not None:
        with _joined(address):
            yield
    else:
        with _started(num_cpus or num_cores()):
            yield


def cpus_by_machine() -> list[int]:
    """CPUs of every machine of the session."""
    return [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]


@contextmanager
def _joined(address: str) -> Iterator[None]:
    with redirect_stdout(sys.stderr):  # what Ray prints is no result of ours
        try:
            ray.init(address=address, **QUIETLY)
        except (ConnectionError, RuntimeError) as error:  # nobody, or another version of Ray
            raise InputError(
                f"--address: cannot join the cluster at {address!r}: {error}"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _started(num_cpus: int) -> Iterator[None]:
    # Ray puts sockets here, whose paths may have a hundred characters at most.
    folder = tempfile.mkdtemp(prefix="metatne-ray-", dir="/tmp" if os.name == "posix" else None)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    with redirect_stdout(sys.stderr):
        try:
            ray.init(
                address="local",
                num_cpus=num_cpus,
                object_store_memory=OBJECT_STORE_BYTES,
                include_dashboard=False,
                _temp_dir=folder,
                _system_config={"idle_worker_killing_time_threshold_ms": IDLE_MILLISECONDS},
                **QUIETLY,
            )
            yield
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def _check_answers(address: str) -> None:
    """Refuse an address where nobody listens."""
    if address == "auto":
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        raise InputError(f"--address: expected HOST:PORT, or auto, found {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--address: there is no Ray cluster at {address!r} ({error}); "
            "start one with `ray start --head`, which prints its address"
        ) from error


@contextmanager
def plain_errors() -> Iterator[None]:
    """What went wrong on a worker as if it had gone wrong here."""
    try:
        yield
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, MetaTNEError):
            raise cause from error
        raise RunError(f"a worker failed: {last_error(str(error))}") from error


def last_error(traceback: str) -> str:
    """The line of a worker's traceback that says what happened."""
    lines = [line.strip() for line in traceback.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return (named or lines or ["no reason given"])[-1]
