"""Every package that can be installed is known by version and hash."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = {path.stem: path for path in (ROOT / "locks").glob("*.lock")}
STALE = "run `make locks`, and commit what it writes"
BROUGHT_BY_PYTHON = {"pip", "setuptools", "wheel", "metatne"}


def entries(path: Path) -> list[str]:
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return re.split(r"\n(?=\S)", text.strip())


def pinned(*names: str) -> dict[str, str]:
    """Version by package, as locked."""
    lines = [entry.split(" ", 1)[0] for name in names for entry in entries(LOCKS[name])]
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_its_hashes(name: str) -> None:
    for entry in entries(LOCKS[name]):
        assert re.fullmatch(
            r"[a-z0-9-]+==\S+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+", entry
        ), f"locks/{name}.lock: {entry[:80]}"


def test_locked_versions_are_those_of_the_constraints() -> None:
    told = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
    constrained = {canonicalize_name(name): version for name, version in told.items()}
    locked = pinned("core", "dev", "tools") | pinned("cpu")
    for_others = set(locked) - set(constrained)
    assert for_others <= {"colorama"}, STALE  # Windows alone needs it
    assert {name: locked.get(name) for name in constrained} == constrained, STALE


ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OWN = [*ABOUT["project"]["dependencies"], *ABOUT["build-system"]["requires"]]
EXTRAS: dict[str, list[str]] = ABOUT["project"]["optional-dependencies"]


@pytest.mark.parametrize(
    ("asked", "locks"),
    [
        ([*OWN, *EXTRAS["service"]], ("core", "cpu")),  # all that `make demo` installs
        ([*OWN, *EXTRAS["service"]], ("core", "cuda")),
        ([*OWN, *chain(*EXTRAS.values())], ("core", "dev", "tools", "cpu")),
    ],
)
def test_all_that_is_asked_for_is_locked(asked: list[str], locks: tuple[str, ...]) -> None:
    locked = pinned(*locks)
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "metatne":
            assert name in locked, f"{name}: {STALE}"
            assert Version(locked[name]) in requirement.specifier, f"{name}: {STALE}"


def test_what_is_installed_is_what_is_locked() -> None:
    locked = pinned("core", "dev", "cpu")
    installed: dict[str, Version] = {
        canonicalize_name(found.name): Version(found.version) for found in distributions()
    }
    for name in set(locked) & set(installed) - BROUGHT_BY_PYTHON:
        assert installed[name].public == Version(locked[name]).public, name


def test_pypis_torch_comes_with_what_it_needs() -> None:
    assert "torch" in pinned("cuda")
    assert any(name.startswith("nvidia-") for name in pinned("cuda"))
    assert not any(name.startswith("nvidia-") for name in pinned("core", "dev", "tools", "cpu"))
