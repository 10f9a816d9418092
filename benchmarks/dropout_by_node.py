"""Does dropout by node (ours, see metatne.noise) harm, compared with dropout by pair?

The same training three times: masks by node, masks by pair (ordinary dropout in the naive form of
the network), no masks. One JSON line a finished training; what is there is not run again:

    python benchmarks/dropout_by_node.py results/dropout.jsonl
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

from metatne.bench.data import paper_graph
from metatne.bench.figure import Skipped
from metatne.bench.train_step import naive_meta_step
from metatne.config import make_config, preset
from metatne.device import one_thread
from metatne.evaluation.protocol import hide_labels
from metatne.sampling.splits import paper_split
from metatne.training.trainer import Trainer

SETTINGS = {
    "short": {},
    # The paper's network and random start; smaller batches, or a training would take hours.
    "paper, 16 tasks": {"tasks_per_step": 16, "num_steps": 1_500, "validation_tasks": 300},
}


class ByPair(Trainer):
    """Training with ordinary dropout, every pair's activations dropped on their own."""

    def meta_step(self) -> None:
        naive_meta_step(self)


def main(path: Path) -> None:
    done = {tuple(json.loads(line)["case"]) for line in path.open()} if path.exists() else set()
    for trial, dataset, name in product((1, 2, 3), ("ppi", "blogcatalog"), SETTINGS):
        graph = paper_graph(dataset)
        if isinstance(graph, Skipped):
            sys.exit(graph.reason)
        visible, split = hide_labels(graph, paper_split(graph.labels.num_labels, trial))
        settings = preset(name.partition(",")[0], dataset) | SETTINGS[name] | {"seed": trial}
        for noise in ("by node", "by pair", "none"):
            case = (dataset, name, trial, noise)
            if case in done:
                continue
            config = make_config(settings | ({"dropout": 0.0} if noise == "none" else {}))
            with one_thread():
                trainer = (ByPair if noise == "by pair" else Trainer)(visible, split, config)
                trainer.run()
            best = max(trainer.state.history, key=lambda validation: validation.score)
            line = {"case": case, "auc": best.auc, "f1": best.f1, "step": best.step}
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
