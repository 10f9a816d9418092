"""A running service: the socket, the models loaded beside it, an orderly end."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, Timer, current_thread, main_thread
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from metatne.errors import InputError
from metatne.graph.store import Graph
from metatne.service.http.app import make_app
from metatne.service.http.guard import LOOPBACK
from metatne.service.http.patience import PatientProtocol
from metatne.service.state import ServiceState

STOP_SECONDS = 10
"""How long requests may go on after the service was told to stop."""

LAST_SECONDS = 2
"""How long they may take after that to tell their clients so."""

MIN_TOKEN_LENGTH = 16


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path) -> str:
    """The token in a file: one line, long enough not to be guessed."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"--token: expected a file of text, found {file}") from error
    if len(token) < MIN_TOKEN_LENGTH or any(c.isspace() for c in token) or not token.isascii():
        raise InputError(
            f"--token: expected one line of at least {MIN_TOKEN_LENGTH} plain characters in "
            f"{file}, such as `openssl rand -hex 32` prints"
        )
    return token


class QuietServer(uvicorn.Server):
    """Uvicorn's server, to which a signal is a wish and no accident, and which ends in time."""

    when_late: Callable[[], None] = staticmethod(lambda: None)
    """Ends what is still going on when `STOP_SECONDS` are over, while clients can still be told."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for requests, and call off those that take too long."""
        late = asyncio.get_running_loop().call_later(STOP_SECONDS, self.when_late)
        try:
            await super().shutdown(sockets)
        finally:
            late.cancel()

    def leave(self) -> None:
        """Take no more requests, and end those there are: at once when their time is over.

        Connections that are held open would be waited for, and not every wait has an end.
        """
        if not self.should_exit:
            last = Timer(STOP_SECONDS + LAST_SECONDS, setattr, (self, "force_exit", True))
            last.daemon = True
            last.start()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal; a second one ends it at once."""
        if self.should_exit:
            self.force_exit = True
        self.leave()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGINT and SIGTERM; the original raises them again when it has stopped."""
        if current_thread() is not main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Server:
    """A service on a socket of its own.

    The socket is bound at once, so that a port that is taken is said before models are loaded;
    they are loaded while the service answers already that it is not ready.
    """

    def __init__(
        self, state: ServiceState, *, host: str = "127.0.0.1", port: int = 8000, token: str | None
    ) -> None:
        if token is None and not is_loopback(host):
            raise InputError(
                f"--host: {host} can be reached from other machines, so a token is needed: "
                "put one into a file (openssl rand -hex 32 > token) and add --token FILE"
            )
        self.state = state
        self._socket = _bound(host, port)
        name, self.port = host, self._socket.getsockname()[1]
        self.url = f"http://{f'[{name}]' if ':' in name else name}:{self.port}"
        hosts = {*LOOPBACK, host} if token is None else None
        app: ASGIApp = make_app(state, token=token, hosts=hosts)
        self._server = QuietServer(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_keep_alive=30,
                timeout_graceful_shutdown=STOP_SECONDS + LAST_SECONDS,
                h11_max_incomplete_event_size=64 * 1024,
            )
        )
        self._server.when_late = state.jobs.call_off
        self._trouble: BaseException | None = None

    def run(
        self,
        models: Sequence[Path],
        graphs: Callable[[], Sequence[Graph]] = lambda: (),
        *,
        data_dir: Path | str | None = None,
        when_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve until SIGINT or SIGTERM; a model that cannot be loaded ends it with its error."""

        def load() -> None:
            try:
                self.state.catalogue.load(models, graphs(), data_dir=data_dir)
            except BaseException as error:  # else it would say for ever that it is not ready
                self._trouble = error
                self.stop()
            else:
                when_ready()

        Thread(target=load, name="metatne-load", daemon=True).start()
        self.serve()
        if self._trouble is not None:
            raise self._trouble

    def serve(self) -> None:
        """Answer until told to stop, with the models that the state has or will have."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.state.close()
            self._socket.close()

    @property
    def is_answering(self) -> bool:
        """Whether requests are taken."""
        return self._server.started and not self._server.should_exit

    def stop(self) -> None:
        """Take no more requests, end those there are, and let `run` return."""
        self._server.leave()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"--host: {host!r} is no address of this machine: {error}") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise InputError(
            f"--port: cannot listen at {host}:{port} ({error.strerror or error}); "
            "name another with --port, or 0 for any that is free"
        ) from error
    return bound
