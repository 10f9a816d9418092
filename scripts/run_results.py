"""Run the trials behind RESULTS.md that results/ does not have yet: `make results`.

What matters most comes first; stop it at any time and start it again. On two cores all of it takes
days, most of them for the last lines; `--list` shows the commands, and any of them can be given
alone. Trials with settings of their own (results/evaluate) that asked for hours each are not among
them; their settings are in their lines.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from metatne.graph.planted import planted_graph

CHEAP = "lp,line,ridge,ppr,degree,unlabelled"
DEAR = "planetoid,gcn,metagnn,node2vec"
VARIANTS = "metatne,v1,v2,v3,v4,v5"
BOTH = "blogcatalog,ppi"

# Study, data sets, methods, trials, further options.
REPRODUCE = (
    ("overall", BOTH, "metatne", "1-50", ""),
    ("overall", BOTH, "metatne", "1-50", "--shots 10/20 --protocol unlabelled-queries"),
    ("overall", "debian", "metatne", "1-6", "--shots 10/20"),
    ("overall", "debian", "metatne", "1-6", "--shots 10/20 --protocol unlabelled-queries"),
    ("overall", BOTH, CHEAP, "1-50", ""),
    ("overall", BOTH, CHEAP, "1-50", "--shots 10/20 --protocol unlabelled-queries"),
    ("overall", BOTH, DEAR, "1-10", ""),
    ("overall", BOTH, "metatne-paper", "1-50", ""),
    ("overall", BOTH, "metatne-paper", "1-10", "--shots 10/20 --protocol unlabelled-queries"),
    ("overall", BOTH, "metatne", "1-50", "--preset brief"),
    ("overall", BOTH, DEAR, "1-10", "--shots 10/20 --protocol unlabelled-queries"),
    (
        "overall",
        BOTH,
        "metatne",
        "1-10",
        "--shots 10/20 --preset brief --protocol unlabelled-queries",
    ),
    ("overall", BOTH, "metatne", "1-10", "--shots 10/20 --preset short"),
    ("ablation", BOTH, VARIANTS, "1-10", "--shots 10/20"),
    ("fewer", "blogcatalog", "metatne", "1-50", ""),
    ("fewer", "blogcatalog", f"metatne-paper,{CHEAP},{DEAR}", "1-10", ""),
    ("negatives", BOTH, "planetoid,metatne,metatne-paper", "1-5", ""),
    ("queries", "ppi", "planetoid,metatne,metatne-paper", "1-5", ""),
    ("overall", "debian", f"{CHEAP},{DEAR}", "1-6", "--shots 10/20"),
    ("overall", "debian", f"{CHEAP},{DEAR}", "1-6", "--shots 10/20 --protocol unlabelled-queries"),
    (
        "overall",
        BOTH,
        f"metatne,{CHEAP}",
        "1-50",
        "--shots 10/40 --protocol unlabelled-queries",
    ),
    (
        "overall",
        BOTH,
        f"metatne-paper,{DEAR}",
        "1-10",
        "--shots 10/40 --protocol unlabelled-queries",
    ),
    ("ablation", BOTH, VARIANTS, "1-10", "--shots 10/40"),
)

# Study, data set, trials.
BEYOND = (
    ("parts", "ppi", "1-6"),
    ("parts-unlabelled", "ppi", "1-6"),
    ("tasks", "ppi", "1-6"),
    ("growth", "ppi", "1-3"),
    ("labelling", "ppi", "1-4"),
    ("calibration", "ppi", "1-3"),
    ("calibration", "blogcatalog", "1-3"),
    ("unknown", "blogcatalog", "1-3"),
    ("unknown", "debian", "1-3"),
    ("shots", "ppi", "1-3"),
    ("shots", "blogcatalog", "1-3"),
    ("shots", "debian", "1"),
    ("parts", "blogcatalog", "1-6"),
    ("parts-unlabelled", "blogcatalog", "1-6"),
)

PLANTED_AT = Path.home() / ".cache" / "metatne" / "planted"
AT = shlex.quote(str(PLANTED_AT))

# Graphs of the sizes of the two that cannot be had everywhere: nodes, labels, mean degree.
PLANTED = {"planted-mashup": (16_143, 28, 37.2), "planted-flickr": (80_513, 195, 146.6)}

# On Flickr's size what is fast runs as it is, and the two that ran out of memory in the paper with
# few walks and steps, for the memory they take.
ON_PLANTED = (
    f"reproduce overall --dataset {AT}/planted-mashup --methods metatne,{CHEAP} --trials 1 "
    "--shots 10/20",
    f"reproduce overall --dataset {AT}/planted-flickr --methods metatne,degree,"
    "unlabelled --trials 1 --shots 10/20",
    *(
        f"evaluate {AT}/planted-flickr --method {method} --set feature_walks=1 {steps} "
        "--trials 1 --tasks 100 --out results/evaluate/flickr_size.jsonl"
        for method, steps in (
            ("metagnn", "--set num_steps=40 --set tuning_steps=10"),
            ("gcn", "--set num_epochs=20 --set dropout_choices=[0.5] --set decay_choices=[0.0]"),
        )
    ),
)


def plant() -> None:
    """The planted graphs, those that are not there."""
    for name, (nodes, labels, degree) in PLANTED.items():
        if not (PLANTED_AT / name).exists():
            planted_graph(
                nodes,
                num_labels=labels,
                mean_degree=degree,
                mixing=0.5,
                label_noise=0.3,
                name=name,
                seed=1,
            ).graph.save(PLANTED_AT / name)


def commands(jobs: int) -> list[list[str]]:
    """All of them, as words."""
    found = [
        f"reproduce {study} --dataset {datasets} --methods {methods} --trials {trials} "
        f"--jobs {jobs} {options}"
        for study, datasets, methods, trials, options in REPRODUCE
    ]
    found += [
        f"beyond {study} --dataset {name} --trials {trials}" for study, name, trials in BEYOND
    ]
    found += ON_PLANTED
    found += ["reproduce visual --dataset ppi --trials 1 --out docs/figures"]
    found += ["reproduce search --dataset ppi --trials 1 --samples 5 --steps 800", "report"]
    return [shlex.split(command) for command in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    parser.add_argument("--list", action="store_true", help="show the commands alone")
    chosen = parser.parse_args()
    metatne = Path(sys.executable).with_name("metatne")
    failed = 0
    if not chosen.list:
        plant()
    for words in commands(chosen.jobs):
        print("metatne", *words, flush=True)
        if not chosen.list:  # one that fails (a package is missing, say) does not end the others
            failed += subprocess.run([metatne, *words], check=False).returncode != 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
