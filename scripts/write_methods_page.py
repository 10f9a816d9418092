"""Write docs/methods.md from the methods themselves: `make docs`."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.evaluation.methods import METHODS, VARIANTS, Entry
from metatne.evaluation.protocol import ASKED_SHARE

TARGET = Path(__file__).parents[1] / "docs" / "methods.md"

INTRODUCTION = f"""\
<!-- Written by scripts/write_methods_page.py (`make docs`); do not edit by hand. -->

# Methods and protocols

Every method of the paper, and controls that it lacks, behind one contract: settings by name,
`fit` on a graph, `score_tasks` for the protocols, `rank` for you. They need `pip install -c
constraints.txt '.[baselines]'` in a checkout.

```
metatne evaluate my-graph --method line --trials 1-5 --out results.jsonl --set strength=0.5
metatne reproduce overall --dataset my-graph --methods lp,line,ridge,metatne --trials 1-5
```

```python
from metatne import load_dataset
from metatne.baselines.propagation import LabelPropagation

graph = load_dataset("debian")
method = LabelPropagation().fit(graph)
print(method.rank(positives=["lmms", "audacity", "ardour"], top=20))
```

The column *probability* of a baseline's ranking puts its score between 0 and 1 and is not
calibrated, unlike that of `MetaTNE`. Without negatives, sets of weak ones are drawn from the rest
of the graph, each of as many as the setting `negatives`, and scores are averaged over the sets; the
table's `attrs["weak_negatives"]` names them.

Choices (a rate, p and q, when to stop) are made on tasks from validation labels, never on test
labels; `metatne` and `ridge` also learn their weights from such tasks, by gradient. Embeddings that
do not depend on labels are kept in the user's cache directory (`~/.cache/metatne/embeddings` on
Linux) under a digest of the graph and the settings.

## Two protocols

A trial cuts the labels into 60 % known, 20 % validation and 20 % test by its number, fits the
method without the test labels, and scores tasks drawn from them.

- `--protocol paper`: support and query nodes come from the whole graph, and every known label of
  every node is given. Where every node holds some label, as in BlogCatalog and PPI, a node
  without a known label is likelier to hold a novel one; the control `unlabelled` scores by that
  alone.
- `--protocol unlabelled-queries`: {ASKED_SHARE:.0%} of the nodes, drawn by the trial's number,
  lose all their known labels; validation and test queries are drawn from these nodes and supports
  from the others. A label without enough holders on either side is not drawn.

## The methods

"""


OF_METATNE = {
    "metatne": """What this project ships, by the preset `default`: a kernel ridge on place, degree
and known labels, around a prior and with walks from the examples, whose weights are meta-learned.
With `--preset short`, `brief`, `paper-small` or `paper` it is the paper's network. Its settings are
in [cli.md](cli.md#settings).
""",
    "metatne-paper": """The paper's network with its random start, sizes and losses, made to take
minutes instead of hours (`--preset paper-small`): batches of 8 or 16 tasks a meta step instead of
32 to 128, fewer queries a training task (2 that hold the label and 10 that lack it; on PPI 30 at
most in the ratio of its supports, which at 10/20 is as published), a ninth of the 40,000 steps (PPI
an eighth, Flickr a quarter), and a validation every 500 steps by 300 tasks. Small batches lead the
weights noisily, so what validation judges and keeps is their average, of which the last quarter of
the steps makes up two thirds. On PPI the meta rate is twice the published one; elsewhere the
structural rate is, and the decay period half (Mashup and Flickr, which could not be had, are as
BlogCatalog). With `--preset paper` it is as published in all of these.

How these were chosen: on validation tasks of trials 51 to 54, which are in no table. But trials cut
the same labels, so a label that tests in one is often a validation label of another; and that
BlogCatalog's tasks need other queries was seen first in test figures: with 4 that hold the label
and 8 that lack it, 28 trials at 10/20 had a mean AUC of .6818. LOG.md (sessions 22 to 25) has all
that was tried.
""",
}


def main() -> None:
    TARGET.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for name, entry in METHODS.items():
        parts.append(_section(name, entry))
    parts.append("## MetaTNE with a part taken out\n\nFor `metatne reproduce ablation`.\n")
    rows = [f"| `{name}` | {_summary(_kind(entry))} |" for name, entry in VARIANTS.items()]
    parts.append("\n".join(["| | |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _section(name: str, entry: Entry) -> str:
    kind = _kind(entry)
    where = "" if entry.is_in_paper else " (not in the paper)"
    title = f"### `{name}`: {entry.title}{where}\n\n"
    if not issubclass(kind, Baseline):
        return title + OF_METATNE[name]
    door = f"`from {entry.module} import {entry.kind}`\n\n"
    text = f"{title}{door}{_document(kind)}\n"
    shared = set(BaselineSettings.model_fields)
    own = {k: v for k, v in kind.kind_of_settings.model_fields.items() if k not in shared}
    if not own:
        return text
    rows = [
        f"| `{key}` | `{_shown(field.default)}` | {field.description} |"
        for key, field in own.items()
    ]
    return "\n".join([text, "| setting | default | |", "|---|---|---|", *rows]) + "\n"


def _shown(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _kind(entry: Entry) -> Any:
    return getattr(import_module(entry.module), entry.kind)


def _document(kind: Any) -> str:
    return inspect.cleandoc(kind.__doc__ or "")


def _summary(kind: Any) -> str:
    return _document(kind).splitlines()[0]


if __name__ == "__main__":
    main()
