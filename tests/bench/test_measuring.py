"""Time and memory are those of the work alone, and of this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from metatne.bench.measuring import machine_facts, matmul_peak, peak_memory, seconds
from metatne.errors import RunError

MIB = 2**20

TARGETS = """
import os, sys, signal

ballast = bytearray(64 * 2**20)
del ballast

def take(mebibytes):
    print("not a result")
    held = bytearray(mebibytes * 2**20)
    for place in range(0, len(held), 4096):
        held[place] = 1
    return {"taken": len(held)}

def fail(word):
    raise ValueError(word)

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that a fresh interpreter finds."""
    (tmp_path / "memory_targets.py").write_text(TARGETS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return "memory_targets"


def test_seconds_are_the_median_after_a_first_call_that_does_not_count() -> None:
    naps = iter([0.2, 0.001, 0.03, 0.2])
    assert 0.03 <= seconds(lambda: time.sleep(next(naps)), repeats=3) < 0.2
    assert next(naps, None) is None


def test_the_peak_is_that_of_the_call_in_a_process_of_its_own(targets: str) -> None:
    ours = bytearray(200 * MIB)  # a forked child would have it
    little = peak_memory(f"{targets}:take", 1)
    much = peak_memory(f"{targets}:take", 100)
    assert little.result == {"taken": MIB}
    assert much.result == {"taken": 100 * MIB}
    assert 95 * MIB < much.peak - little.peak < 110 * MIB
    assert little.peak - little.before < 10 * MIB  # what importing took and gave back is forgotten
    assert little.before < len(ours)
    assert 0 < little.seconds < much.seconds


def test_a_target_that_fails_says_why(targets: str) -> None:
    with pytest.raises(RunError, match=r"memory_targets:fail ended with .* 1: ValueError: no luck"):
        peak_memory(f"{targets}:fail", "no luck")
    with pytest.raises(RunError, match="was ended by SIGKILL"):
        peak_memory(f"{targets}:die")
    with pytest.raises(RunError, match="no attribute 'none'"):
        peak_memory(f"{targets}:none")


def test_facts_of_the_machine() -> None:
    facts = machine_facts()
    assert facts["cores"] >= 1
    assert facts["threads"] == 1  # conftest.py says so
    assert facts["memory_bytes"] > 256 * MIB
    assert all(facts["versions"].values())
    assert facts["commit"] is None or len(facts["commit"].removesuffix("-dirty")) == 40


def test_the_peak_of_matrix_products_is_plausible() -> None:
    assert 0.1 < matmul_peak(1) < 100_000
