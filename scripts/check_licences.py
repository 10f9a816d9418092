"""The licences of all that is installed for MetaTNE, and whether the core is free of copyleft.

    .venv/bin/python scripts/check_licences.py        (`make licences`)

Goes by what the packages say of themselves. The core is what `pip install metatne[service,client]`
brings: there GPL, LGPL and AGPL end the check with 1, as does a package that names no licence. What
other extras bring is shown, since it is installed by choice and not shipped.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = "metatne"
CORE = ("service", "client")
OTHERS = ("baselines", "cluster", "experiments", "plot", "dev", "fuzz", "supply")
COPYLEFT = re.compile(r"\b[AL]?GPL|General Public License", re.IGNORECASE)
EXCEPTIONS: dict[str, str] = {}
"""Packages of the core that say GPL and may stay, each with its reason; there is none."""


def main() -> None:
    core = set(needed(CORE))
    everything = sorted({*core, *needed((*CORE, *OTHERS))})
    for name in everything:
        where = "core" if name in core else "extra"
        print(f"{where:6} {name:30} {licence_of(name) or 'NONE'}")
    if faults := core_faults(core):
        sys.exit("error: " + "; ".join(faults))


def core_faults(core: set[str]) -> list[str]:
    """What must not be in the core, with its reason."""
    faults = []
    for name in sorted(core):
        licence = licence_of(name)
        if not licence:
            faults.append(f"{name} names no licence")
        elif is_copyleft(licence) and name not in EXCEPTIONS:
            faults.append(f"{name} is under {licence}")
    return faults


def is_copyleft(licence: str) -> bool:
    """Whether there is no way to use it but under a licence of the GPL's family."""
    ways = re.split(r"\bOR\b", licence)
    return all(COPYLEFT.search(way) for way in ways)


def licence_of(name: str) -> str:
    """What a package says of its licence: an SPDX expression, or its classifiers, or its words."""
    about = distribution(name).metadata
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    found = [
        value.rpartition(" :: ")[2]
        for value in about.get_all("Classifier", [])
        if value.startswith("License :: ") and not value.endswith("OSI Approved")
    ]
    words = (about.get("License") or "").strip().partition("\n")[0]
    return ", ".join(found) or words


def needed(extras: tuple[str, ...]) -> Iterator[str]:
    """Installed packages that the project needs with these extras, directly or not."""
    seen: set[tuple[str, str]] = set()
    waiting = [(PROJECT, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            requires = own_requirements() if name == PROJECT else distribution(name).requires or []
        except PackageNotFoundError:  # of an extra that is not installed here
            continue
        if not extra and name != PROJECT:
            yield name
        for requirement in map(Requirement, requires):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                other = canonicalize_name(requirement.name)
                waiting.extend((other, wanted) for wanted in ("", *requirement.extras))


def own_requirements() -> list[str]:
    """As pyproject.toml has them: an environment may have been made before it was changed."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = []
    for extra, requirements in about["optional-dependencies"].items():
        for requirement in requirements:
            name, _, marker = requirement.partition(";")
            condition = f"({marker}) and " if marker else ""
            optional.append(f"{name}; {condition}extra == '{extra}'")
    return [*about["dependencies"], *optional]


if __name__ == "__main__":
    main()
