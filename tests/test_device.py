"""Which device is chosen, what is said of one that is not there, and how many threads work."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from metatne.device import one_thread, resolve_device, torch_in_threads
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


@pytest.mark.parametrize("threads", ["1", "2"])
def test_pieces_are_worked_on_with_one_thread_each(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with threadpool_limits(2):
            found = torch_in_threads(
                lambda piece: (piece, torch.get_num_threads(), num_blas_threads()), range(5)
            )
            assert found == [(piece, 1, {1}) for piece in range(5)]
            assert torch.get_num_threads() == 2
            assert num_blas_threads() == {2}
    finally:
        torch.set_num_threads(before)


def test_two_pieces_are_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other, so that one after the other would never end."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    meeting = threading.Barrier(2, timeout=60)

    def meet(piece: int) -> int:
        meeting.wait()
        return piece

    assert torch_in_threads(meet, range(2)) == [0, 1]


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("is_wanted_outside", [True, False])
def test_gradients_are_kept_track_of_when_asked_for(
    threads: str, is_wanted_outside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the caller's own setting is; and that is left alone."""
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    weight = torch.ones(3, requires_grad=True)

    def slope(piece: int) -> list[float]:
        (by_weight,) = torch.autograd.grad((piece * weight).sum(), weight)
        return by_weight.tolist()

    with torch.set_grad_enabled(is_wanted_outside):
        plain = torch_in_threads(lambda piece: piece * weight, range(3))
        assert not any(result.requires_grad for result in plain)
        assert torch_in_threads(slope, range(3), with_gradients=True) == [
            [0.0] * 3,
            [1.0] * 3,
            [2.0] * 3,
        ]
        assert torch.is_grad_enabled() == is_wanted_outside
        assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_error_of_a_piece_is_the_callers(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)

    def work(piece: int) -> int:
        if piece == 1:
            raise ValueError("on purpose")
        return piece

    with pytest.raises(ValueError, match="on purpose"):
        torch_in_threads(work, range(3))
    assert torch_in_threads(work, [0, 2]) == [0, 2]


def test_no_pieces_are_no_work() -> None:
    assert torch_in_threads(lambda piece: piece, []) == []
