"""Questions answered once: rankings kept by what was asked, the oldest forgotten first."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

from metatne.parallel import Progress
from metatne.service.jobs import AskedAlready, HowFar
from metatne.service.rankings import Ranking
from metatne.service.scoring import Question, check_not_empty

Kept = TypeVar("Kept")

KEPT_BYTES = 256 * 2**20
ENTRY_BYTES = 2_000
"""What an answer takes beside its arrays: the objects around them, its place in the order."""


class Desk:
    """Where questions arrive; a page asks for the ranking, the map and more of one question.

    Of several jobs with the same question one works; the others are put off until it has ended, and
    hold no thread meanwhile.
    """

    def __init__(self, max_bytes: int = KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._working: dict[Hashable, tuple[Future[None], HowFar]] = {}
        self._lock = Lock()
        self.num_bytes = 0
        self.num_hits = 0
        self.num_misses = 0

    def rank(self, question: Question, progress: Progress) -> Ranking:
        """The ranking of a question."""
        check_not_empty(question)
        how_far = HowFar()

        def told(done: int, total: int) -> None:
            how_far.note(done, total)
            progress(done, total)

        return self.once(
            ("ranking", *question.key),
            lambda: Ranking.of(question, told),
            lambda ranking: ranking.num_bytes,
            how_far,
        )

    def once(
        self,
        key: tuple[Hashable, ...],
        work: Callable[[], Kept],
        size: Callable[[Kept], int],
        how_far: HowFar | None = None,
    ) -> Kept:
        """What `work` gave when it was last called for this key, or gives now.

        Raises `AskedAlready` while another thread works on it, with how far that is.
        """
        mine: Future[None] = Future()
        with self._lock:
            if key in self._kept:
                self.num_hits += 1
                self._kept.move_to_end(key)
                found: Kept = self._kept[key][0]
                return found
            if key in self._working:
                raise AskedAlready(*self._working[key])
            self._working[key] = mine, how_far or HowFar()
            self.num_misses += 1
        try:
            made = work()
            # Examples are in the key, so it may be larger than what is kept by it.
            in_key = sum(map(sys.getsizeof, key))
            self._keep(key, made, ENTRY_BYTES + in_key + size(made))
            return made
        finally:
            with self._lock:
                del self._working[key]
            mine.set_result(None)

    def _keep(self, key: Hashable, made: Any, num_bytes: int) -> None:
        with self._lock:
            self._kept[key] = (made, num_bytes)
            self.num_bytes += num_bytes
            while self.num_bytes > self._max_bytes and len(self._kept) > 1:
                _, (_, freed) = self._kept.popitem(last=False)
                self.num_bytes -= freed
