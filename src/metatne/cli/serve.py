"""`metatne serve`: questions over HTTP, and a page to ask them on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say, show
from metatne.cli.options import DataDirOption, load_graph
from metatne.graph.store import Graph
from metatne.saved import check_is_model

EXAMPLE = """\b
Example:
  metatne serve model --port 8000"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def serve(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL ...", help="Directories that `metatne train` wrote."),
    ],
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Where to listen; any but this machine's own needs --token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="0 takes a free one.")
    ] = 8000,
    token: Annotated[
        Path | None,
        typer.Option(
            "--token", metavar="FILE", help="Answer only to those who give the token in this file."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Keep label projects here; by default in the user's data directory "
            "(~/.local/share/metatne on Linux).",
        ),
    ] = None,
    graph: Annotated[
        list[str] | None,
        typer.Option(
            "--graph",
            metavar="GRAPH",
            help="The graph of a model, if it is not where it was trained; may be repeated.",
        ),
    ] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Answer questions over HTTP, with a page to ask them on.

    Open the address that it prints in a browser; docs/service.md tells programs how to ask.
    Ctrl-C stops it after the requests that are being answered.
    """
    # Before anything else, so that a missing library is said at once.
    from metatne.service.http.request_log import log_to_stderr
    from metatne.service.http.server import Server, read_token
    from metatne.service.state import ServiceState

    for model in models:  # before an address is shown that would answer nothing
        check_is_model(model)
    secret = None if token is None else read_token(token)
    server = Server(ServiceState.open(data or _default_data()), host=host, port=port, token=secret)
    log_to_stderr()
    show(server.url)

    def graphs() -> list[Graph]:
        return [load_graph(reference, data_dir) for reference in graph or []]

    def when_ready() -> None:
        names = ", ".join(served.name for served in server.state.catalogue.all())
        say(f"ready: {names}; open {server.url} in a browser, Ctrl-C stops")

    server.run(models, graphs, data_dir=data_dir, when_ready=when_ready)


def _default_data() -> Path:
    from platformdirs import user_data_path

    return user_data_path("metatne", appauthor=False)
