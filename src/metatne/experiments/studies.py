"""Which trials make up each table and figure of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from metatne.config import did_you_mean
from metatne.errors import ConfigError
from metatne.evaluation.methods import METHODS, VARIANTS
from metatne.evaluation.protocol import PAPER, TrialSettings

Shots = tuple[int, int]
"""K+ and K-."""


@dataclass(frozen=True)
class Study:
    """A table or figure: its cells, but for method, data set and trial."""

    name: str
    title: str
    shows: str
    """Where it is in the paper."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    cells: Callable[[], Iterator[TrialSettings]]
    """Settings of every cell, of a method that is yet to be put in."""

    preset: str = "default"
    """Of the methods that have presets, where the user names none."""

    note: str = ""
    """What a reader of its tables should know."""

    compared: tuple[str, ...] = ("auc",)
    """The metrics that methods are held against each other by, trial by trial."""


def _cells(*shots: Shots, queries: Sequence[Shots | None] = (None,)) -> Iterator[TrialSettings]:
    for positives, negatives in shots:
        for query in queries:
            cell = TrialSettings("metatne", "default", positives, negatives)
            if query is not None:
                cell = replace(cell, query_positives=query[0], query_negatives=query[1])
            yield cell


PAPER_DATASETS = ("blogcatalog", "ppi", "flickr", "mashup")
VARYING = (10, 20, 30, 40, 50)
"""Numbers of negatives in Figures 4 and 5."""

STUDIES = {
    study.name: study
    for study in (
        Study(
            "overall",
            "Novel labels, ten positive examples",
            "Tables 2 and 5",
            PAPER_DATASETS,
            tuple(METHODS),
            lambda: _cells((10, 20), (10, 40)),
        ),
        Study(
            "fewer",
            "Novel labels, five positive examples",
            "Table 6",
            ("blogcatalog",),
            tuple(METHODS),
            lambda: _cells((5, 10), (5, 20)),
        ),
        Study(
            "ablation",
            "What each part of MetaTNE is good for",
            "Table 3",
            ("blogcatalog", "ppi"),
            ("metatne", *VARIANTS),
            lambda: _cells((10, 20), (10, 40)),
            preset="paper-small",
            compared=("f1", "auc"),
            note="The paper's Table 3 is of F1; an order by F1 need not be one by AUC. With "
            "`paper-small` all start at random, as published, and take the same number of steps; "
            "V3's are of both kinds at once, after five tries of a fifth of them for its factor. "
            "With `short` all but V4 and V5 start from a spectral embedding that knows the known "
            "labels, V4 from one of the graph alone, since what it freezes is to be structure; "
            "V5, at random, has hardly learned after the 500 steps.",
        ),
        Study(
            "negatives",
            "How the number of negatives matters",
            "Figure 4",
            ("blogcatalog", "ppi"),
            ("planetoid", "metatne", "metatne-paper"),
            lambda: _cells(*((k, negatives) for k in (10, 20) for negatives in VARYING)),
        ),
        Study(
            "queries",
            "How the number of queries matters, with supports of 10/30",
            "Figure 5",
            ("ppi",),
            ("planetoid", "metatne", "metatne-paper"),
            lambda: _cells(
                (10, 30), queries=[(k, negatives) for k in (10, 20) for negatives in VARYING]
            ),
        ),
    )
}


def cells_of(
    study: Study,
    methods: Sequence[str],
    *,
    preset: str = "default",
    num_tasks: int = 1_000,
    protocol: str = PAPER,
    draws_label_zero: bool = False,
) -> list[TrialSettings]:
    """The settings of every cell of a study for these methods, method by method."""
    return [
        replace(
            cell,
            method=method,
            preset=study.preset if preset == "default" else preset,
            num_tasks=num_tasks,
            protocol=protocol,
            draws_label_zero=draws_label_zero,
        )
        for method in methods
        for cell in study.cells()
    ]


def chosen(name: str, text: str | None, known: Sequence[str]) -> list[str]:
    """The names in `a,b,c`, all of which must be known; all that are known where there is none."""
    if text is None:
        return list(known)
    names = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in names if part not in known]
    if unknown or not names:
        raise ConfigError(
            f"{name}: expected some of {', '.join(known)}, found {', '.join(unknown) or text!r}"
            f"{did_you_mean(unknown[0], known) if unknown else ''}"
        )
    return list(dict.fromkeys(names))
