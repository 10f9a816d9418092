"""Code that would run a stranger's data, or unpack it anywhere, does not pass `make check`."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REFUSED = {
    "S102": "exec(data)",
    "S202": "import tarfile\ntarfile.open(data).extractall()",
    "S301": "import pickle\npickle.loads(data)",
    "S302": "import marshal\nmarshal.loads(data)",
    "S307": "eval(data)",
    "S314": "from xml.etree import ElementTree\nElementTree.parse(data)",
    "S324": "import hashlib\nhashlib.md5(data)",
    "S506": "import yaml\nyaml.load(data)",
    "S602": "import subprocess\nsubprocess.run(data, shell=True)",
    "TID251": "import torch\ntorch.load(data)",
}


@pytest.fixture(scope="module")
def found() -> str:
    """What ruff says of all of it at once, with the settings of the project, as a file of ours."""
    code = "data = input()\n" + "\n".join(REFUSED.values()) + "\n"
    ruff = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    done = subprocess.run(
        [*ruff, "--stdin-filename", "src/metatne/new.py", "-"],
        cwd=ROOT,
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("rule", REFUSED)
def test_the_linter_refuses(found: str, rule: str) -> None:
    assert f" {rule} " in found


def test_archives_are_never_unpacked_and_arrays_never_unpickled() -> None:
    """What the linter has no rule for."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            place = f"{path}:{node.lineno}"
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            assert called != "extractall", place
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle":
                    assert isinstance(keyword.value, ast.Constant), place
                    assert keyword.value.value is False, place
