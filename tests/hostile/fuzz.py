"""Coverage-guided fuzzing of every reader (libFuzzer through atheris), and its figures.

    python tests/hostile/fuzz.py [--seconds 660] [--targets edges,zip] [--out results/fuzz.json]

The seconds are shared out among the targets; each runs in a process of its own, starts from the
seeds in `seeds.py`, and is stopped by libFuzzer where an input breaks the promise (`targets.py`),
takes more than 20 s or 3 GiB. A target's figures are written as soon as it is through, so a run
that was stopped goes on with `--targets`. What broke is kept in `--kept`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MAX_BYTES = 2**16
INPUT_SECONDS = 20
MEMORY_MIB = 3 * 1024
COMPILED = [
    *("metatne.graph.adjacency", "metatne.graph.loops", "metatne.graph.names"),
    *("metatne.graph.node_ids", "metatne.graph.numbering", "metatne.graph.ranks"),
    *("metatne.graph.walk", "metatne.graph.readers.scanning"),
]
"""Loops for Numba, which cannot compile what atheris has put its counters into."""

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None

FIGURES = {
    "inputs": r"stat::number_of_executed_units:\s+(\d+)",
    "inputs_a_second": r"stat::average_exec_per_sec:\s+(\d+)",
    "kept_inputs": r"stat::new_units_added:\s+(\d+)",
    "slowest_seconds": r"stat::slowest_unit_time_sec:\s+(\d+)",
    "peak_mib": r"stat::peak_rss_mb:\s+(\d+)",
}
COVERED = r"cov: (\d+) ft: "


def main() -> None:
    """Fuzz what was asked for; exit with 1 where anything broke."""
    from hostile.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=660)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--out", type=Path, default=Path("results/fuzz.json"))
    parser.add_argument("--kept", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args()
    names = options.targets.split(",")
    if unknown := sorted(set(names) - set(TARGETS)):
        parser.error(f"--targets: expected some of {', '.join(TARGETS)}, found {unknown}")
    found = [
        record(options.out, name, fuzz(name, options.seconds / len(names), options.kept / name))
        for name in names
    ]
    sys.exit(any(figures["broken"] for figures in found))


def fuzz(name: str, seconds: float, kept: Path) -> dict[str, Any]:
    """Fuzz one target in a process of its own; its figures."""
    kept.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, __file__, "--run", name, str(max(1, round(seconds))), str(kept)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    told = done.stdout
    (kept / "log").write_text(told, encoding="utf-8")
    figures: dict[str, Any] = {"seconds": round(time.monotonic() - started)}
    for figure, pattern in FIGURES.items():
        match = re.search(pattern, told)
        figures[figure] = int(match[1]) if match else None
    covered = [int(count) for count in re.findall(COVERED, told)] or [0]
    figures["edges_seeds"], figures["edges"] = covered[0], covered[-1]
    figures["broken"] = done.returncode != 0
    print(f"{name:15} {json.dumps(figures)}", flush=True)
    if figures["broken"]:
        print("\n".join(told.splitlines()[-40:]), flush=True)
    return figures


def record(file: Path, name: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Put the figures of a target beside those of the others."""
    from metatne.bench.measuring import machine_facts
    from metatne.storage import write_json

    every = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"targets": {}}
    every["machine"] = machine_facts()
    every["targets"][name] = figures | {key: every["machine"][key] for key in ("date", "commit")}
    every["seconds"] = sum(target["seconds"] for target in every["targets"].values())
    write_json(file, every)
    return figures


def run(name: str, seconds: str, kept: str) -> None:
    """Fuzz one target in this process, until libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["metatne.graph", "zipfile"], exclude=COMPILED):
        from hostile.targets import TARGETS
    target = TARGETS[name]
    with tempfile.TemporaryDirectory(prefix="metatne-fuzz-", dir=IN_MEMORY) as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for seed, data in target.seeds().items():
            (corpus / seed).write_bytes(data)
            target.try_bytes(data, Path(folder))  # what is compiled at first is no slow input

        def try_out(data: bytes) -> None:
            target.try_bytes(data, Path(folder))

        atheris.Setup(
            [
                sys.argv[0],
                str(corpus),
                f"-max_total_time={seconds}",
                f"-max_len={MAX_BYTES}",
                f"-timeout={INPUT_SECONDS}",
                f"-rss_limit_mb={MEMORY_MIB}",
                f"-artifact_prefix={kept}/",
                "-print_final_stats=1",
            ],
            try_out,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    else:
        main()
