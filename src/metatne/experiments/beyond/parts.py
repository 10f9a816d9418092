"""The default without each of its parts in turn."""

from __future__ import annotations

from typing import get_args

from metatne.config import HeadPart
from metatne.experiments.beyond.trial import Lines, Trial, line


def parts(trial: Trial) -> Lines:
    """Trained as a whole, then without each part."""
    tasks = trial.draw()
    yield line("whole", trial.fit().score_tasks(tasks), tasks)
    for part in get_args(HeadPart):
        model = trial.fit(head_without=(part,))
        yield line(f"without {part}", model.score_tasks(tasks), tasks)


def parts_unlabelled(trial: Trial) -> Lines:
    """The same where nobody has annotated the nodes that are asked about."""
    yield from parts(trial.with_unlabelled_queries())
