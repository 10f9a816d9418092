"""Write locks/: every package that MetaTNE needs, directly or not, by version and SHA-256.

    .venv/bin/python scripts/write_locks.py        (`make locks`; needs uv, of the extra `supply`)

Versions are those of constraints.txt. No file repeats another:

core.lock   the library, the command line and the service, without torch
cpu.lock    torch: its CPU build for Linux, which PyPI does not have; PyPI's elsewhere
cuda.lock   or torch as PyPI has it for Linux, with the CUDA libraries that it needs
dev.lock    what `make test` needs besides
tools.lock  what `make fuzz`, `make sbom` and this script need besides
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"

CORE = ("service",)
DEV = (*CORE, "dev", "cluster", "experiments")
TOOLS = (*DEV, "fuzz", "supply")

CUDA = re.compile(r"nvidia-|cuda-|triton$")
CPU_WHEELS = ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)
"""torch 2.13.0+cpu for Python 3.11 on Linux (x86-64)."""

Locked = dict[str, str]
"""Each package's entry by its name."""


def main() -> None:
    core, dev, tools = (resolve(extras) for extras in (CORE, DEV, TOOLS))
    of_torch = {name: core[name] for name in core if name == "torch" or CUDA.match(name)}
    seen = set(of_torch)
    LOCKS.mkdir(exist_ok=True)
    for name, locked in (("core", core), ("dev", dev), ("tools", tools)):
        write(name, {package: locked[package] for package in locked if package not in seen})
        seen |= set(locked)
    write("cuda", of_torch)
    write("cpu", cpu_builds(of_torch["torch"]))


def cpu_builds(torch: str) -> Locked:
    """The CPU build by its own version, which no other build can be taken for; PyPI's elsewhere."""
    version, _, hashes = torch.partition(" \\\n")
    digests = " \\\n".join(f"    --hash=sha256:{digest}" for digest in CPU_WHEELS)
    return {
        "torch on Linux": f"{version}+cpu ; sys_platform == 'linux' \\\n{digests}",
        "torch elsewhere": f"{version} ; sys_platform != 'linux' \\\n{hashes}",
    }


def resolve(extras: tuple[str, ...]) -> Locked:
    """What the extras need on any system, as uv finds it."""
    command = ["uv", "pip", "compile", "pyproject.toml", "-", "--quiet", "--universal"]
    command += ["--python-version", "3.11", "--constraint", "constraints.txt"]
    command += ["--generate-hashes", "--allow-unsafe", "--no-header", "--no-annotate"]
    done = subprocess.run(
        [*command, *(word for extra in extras for word in ("--extra", extra))],
        cwd=ROOT,
        input="\n".join(build_requirements()),
        capture_output=True,
        text=True,
        check=True,
    )
    return entries(done.stdout)


def build_requirements() -> list[str]:
    """What the package itself is built with; it is installed without a build environment."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(about["build-system"]["requires"])


def entries(text: str) -> Locked:
    """The entries of a lock file by package."""
    found: Locked = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        if not entry.startswith("#"):
            found[re.split(r"[=\[ ]", entry, maxsplit=1)[0]] = entry
    return found


def write(name: str, locked: Locked) -> None:
    head = "# Written by scripts/write_locks.py (make locks); see docs/dependencies.md.\n"
    (LOCKS / f"{name}.lock").write_text(head + "\n".join(locked.values()) + "\n", encoding="utf-8")
    print(f"locks/{name}.lock: {len(locked)} packages")


if __name__ == "__main__":
    main()
