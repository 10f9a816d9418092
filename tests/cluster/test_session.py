"""A Ray that is started, joined, or said not to be there."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from cli.conftest import Town, run, town  # noqa: F401 - fixtures
from cli.running import Run, run_process

pytest.importorskip("ray", reason="Ray is not installed: pip install 'metatne[cluster]'")

import ray

from metatne.cluster.session import OBJECT_STORE_BYTES, cpus_by_machine, last_error, ray_session
from metatne.cluster.training import cpus_per_worker
from metatne.errors import InputError


@pytest.mark.usefixtures("ray_of_two")
def test_a_local_ray_is_bounded_and_kept_by_an_inner_session() -> None:
    with ray_session(num_cpus=1):
        assert cpus_by_machine() == [2]
    assert ray.is_initialized()
    assert ray.cluster_resources()["object_store_memory"] == OBJECT_STORE_BYTES


@pytest.mark.slow
@pytest.mark.usefixtures("ray_of_two")
def test_a_command_joins_a_cluster_and_leaves_it_running(
    town: Town,  # noqa: F811
    tmp_path: Path,
) -> None:
    arguments = ["predict", town.model, "-p", "person 1, Main Street", "--top", 3]
    address = ray.get_runtime_context().gcs_address
    joined = run_process(*arguments, "--engine", "ray", "--address", address, cwd=tmp_path)
    assert joined.code == 0, joined.err
    alone = run_process(*arguments, cwd=tmp_path)
    assert (joined.out, joined.err) == (alone.out, alone.err)
    assert cpus_by_machine() == [2]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "expected HOST:PORT, or auto, found 'nowhere'"),
        ("host:", "expected HOST:PORT"),
        ("127.0.0.1:99999", "there is no Ray cluster at '127.0.0.1:99999'"),
    ],
)
def test_an_address_that_is_none(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message), ray_session(address):
        pass


def test_an_address_where_nobody_listens() -> None:
    with socket.socket() as reserved:  # bound, so that nobody else takes the port
        reserved.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
        with pytest.raises(InputError, match="ray start --head"), ray_session(address):
            pass


def test_ray_that_is_not_installed_is_said_plainly(
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "metatne.cluster")
    finished = run("train", "debian", "--out", "model", "--engine", "ray")
    assert finished.code == 2
    assert "pip install 'metatne[cluster]'" in finished.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", 2], "--workers: needs --engine ray"),
        (["--address", "auto"], "--address: needs --engine ray"),
        (["--engine", "spark"], "--engine: expected local or ray, found 'spark'"),
        (["--engine", "ray", "--workers", 0], "'--workers'"),
    ],
)
def test_options_that_do_not_go_together(
    run: Run,  # noqa: F811
    options: list[object],
    message: str,
) -> None:
    for command in (["train", "debian", "--out", "model"], ["predict", "model", "-p", "a"]):
        finished = run(*command, *options)
        assert finished.code == 2
        assert message in finished.err


@pytest.mark.parametrize(
    ("num_workers", "cpus", "expected"),
    [(1, [8], 8), (2, [8], 4), (3, [8], 2), (2, [8, 8], 8), (3, [8, 8], 4), (3, [8, 4], 4)],
)
def test_workers_share_the_cpus(num_workers: int, cpus: list[int], expected: int) -> None:
    assert cpus_per_worker(num_workers, cpus) == expected


def test_more_workers_than_cpus() -> None:
    with pytest.raises(InputError, match="9 workers need a CPU each, and the cluster has 8"):
        cpus_per_worker(9, [4, 4])


def test_a_traceback_in_a_line() -> None:
    trace = "ray::work()\n  File 'x.py', line 1\nmemory.MemoryError: too much\n  at the end\n"
    assert last_error(trace) == "memory.MemoryError: too much"
    assert last_error("it died") == "it died"
    assert last_error("") == "no reason given"
