"""One Ray of two CPUs for all tests of the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="package")
def ray_of_two() -> Iterator[None]:
    """A local Ray that was started as a command starts one; its directory goes with it."""
    import ray

    from metatne.cluster.session import ray_session

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
        monkeypatch.setenv("RAY_worker_niceness", "0")  # the tests wait for the workers
        with ray_session(num_cpus=2):
            folder = Path(ray._private.worker.global_worker.node.get_session_dir_path())
            assert folder.is_dir()
            yield
    assert not ray.is_initialized()
    assert not folder.parent.exists()
