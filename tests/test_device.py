"""Which device is chosen, what is said of one that is not there, and how many threads work."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from metatne.device import one_thread, resolve_device
from metatne.errors import ConfigError


def machine(monkeypatch: pytest.MonkeyPatch, *, cuda: bool, mps: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_takes_the_fastest_there_is(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str
) -> None:
    machine(monkeypatch, cuda=cuda, mps=mps)
    assert resolve_device().type == expected
    assert resolve_device("auto").type == expected


def test_a_device_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=True, mps=False)
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps", "meta"])
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    machine(monkeypatch, cuda=False, mps=False)
    with pytest.raises(ConfigError, match=rf"device: '{name}' is not available .* use 'auto'"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x"])
def test_a_name_that_is_no_device(name: str) -> None:
    with pytest.raises(ConfigError, match=f"device: expected 'auto', 'cpu', .* found '{name}'"):
        resolve_device(name)


def num_blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_one_thread_and_then_as_many_as_before() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with threadpool_limits(2):
            with one_thread():
                assert torch.get_num_threads() == 1
                assert num_blas_threads() == {1}
            assert torch.get_num_threads() == 2
            assert num_blas_threads() == {2}

            def fail() -> None:
                with one_thread():
                    raise ValueError("on purpose")

            with pytest.raises(ValueError, match="on purpose"):
                fail()
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
