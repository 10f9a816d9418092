"""A service that is told to stop, by a call or by a signal, ends in time."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn

from metatne.service.http import server
from metatne.service.http.server import LAST_SECONDS, STOP_SECONDS, QuietServer


class Clock:
    """Stands in for `threading.Timer`: its hour comes when the test says so."""

    armed: list[Clock]

    def __init__(self, seconds: float, act: Callable[..., None], arguments: Any) -> None:
        self.seconds, self.daemon = seconds, False
        self.strike: Callable[[], None] = lambda: act(*arguments)

    def start(self) -> None:
        assert self.daemon, "it would keep the process alive"
        Clock.armed.append(self)


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> QuietServer:
    Clock.armed = []
    monkeypatch.setattr(server, "Timer", Clock)
    return QuietServer(uvicorn.Config(lambda: None))


@pytest.mark.parametrize("is_signal", [False, True])
def test_what_does_not_end_by_itself_is_ended(ending: QuietServer, is_signal: bool) -> None:
    if is_signal:
        ending.handle_exit(signal.SIGTERM, None)
    else:
        ending.leave()
    assert ending.should_exit
    assert not ending.force_exit, "requests get their time"
    ending.leave()
    (clock,) = Clock.armed
    assert clock.seconds == STOP_SECONDS + LAST_SECONDS
    clock.strike()
    assert ending.force_exit


def test_a_second_signal_ends_it_at_once(ending: QuietServer) -> None:
    ending.handle_exit(signal.SIGTERM, None)
    assert not ending.force_exit
    ending.handle_exit(signal.SIGTERM, None)
    assert ending.force_exit
