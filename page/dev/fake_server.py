"""The HTTP contract without a model: `python page/dev/fake_server.py [--port N] [--token TEXT]`.

For work on the page, and for tests of what a real service does seldom: slowness, overload,
ids that are hard on a browser. It prints its address in the first line.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import mimetypes
import unicodedata
from collections import Counter
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import fake_graph as graphs
from fake_projects import ConflictError, FakeProjects

JSON = dict[str, Any]
PAGE = Path(__file__).parents[2] / "src" / "metatne" / "service" / "page"
ANSWERS = {
    "explain": graphs.explain,
    "relate": graphs.relate,
    "suggest": graphs.suggest,
    "map": graphs.place,
    "ego": graphs.ego,
}


class RefusedError(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        self.status = status
        error = {"code": code, "message": message, "field": None, "request_id": "fake"}
        self.body: JSON = {"error": error} | more


class Fake(ThreadingHTTPServer):
    """What all requests share."""

    daemon_threads = True

    def __init__(self, port: int, token: str | None, slow: float) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        found = [graphs.named_graph(), graphs.numbered_graph(slow)]
        self.graphs = {graph.name: graph for graph in found}
        self.projects = FakeProjects()
        self.token = token
        self.num_refusals = {"rank": 0, "models": 0}  # how many more asks are put off


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Fake
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing: tests read the output."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        self.query = {key: found[0] for key, found in parse_qs(url.query).items()}
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        try:
            if parts[:2] == ["api", "v1"]:
                self._check_token()
                self._answer(parts[2:])
            elif parts in (["health"], ["ready"]):
                self._json({"status": "ok"})
            elif parts == ["dev", "busy"]:
                self.server.num_refusals[self.query["on"]] = int(self.query["times"])
                self._json({})
            else:
                self._file(parts)
        except RefusedError as error:
            self._json(error.body, error.status)
        except KeyError as error:
            code = "unknown_project" if parts[2:3] == ["projects"] else "unknown_node"
            body = RefusedError(404, code, f"expected a known name, found {error}").body
            self._json(body, 404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the page has cancelled

    def _check_token(self) -> None:
        wanted = self.server.token
        if wanted is not None and self.headers.get("Authorization") != f"Bearer {wanted}":
            raise RefusedError(401, "unauthorised", "expected the header Authorization: Bearer …")

    def _answer(self, parts: list[str]) -> None:
        match parts:
            case ["models"]:
                self._put_off("models")
                self._json({"models": [_model(graph) for graph in self.server.graphs.values()]})
            case ["models", name, what]:
                self._ask(self.server.graphs[name], what)
            case ["projects", *rest]:
                self._project(rest)
            case _:
                raise RefusedError(404, "bad_request", "no such path")

    def _put_off(self, what: str) -> None:
        if self.server.num_refusals[what] > 0:
            self.server.num_refusals[what] -= 1
            code = "loading" if what == "models" else "overloaded"
            raise RefusedError(503, code, "not now; try again soon")

    # --- models --------------------------------------------------------------------------------

    def _ask(self, graph: graphs.FakeGraph, what: str) -> None:
        if what == "nodes":
            return self._json(_search(graph, self.query["q"], int(self.query.get("limit", 20))))
        if what == "labels":
            return self._json(_labels(graph, self.query["q"], int(self.query.get("limit", 20))))
        if what == "node":
            return self._json(_card(graph, graph.by_text[self.query["id"]]))
        ask: JSON = {"positives": [], "negatives": []} | json.loads(self.body)
        if what == "rank":
            self._put_off(what)
        is_bare = what == "ego" and not ask["negatives"] and ask.get("prior") is None
        if not ask["positives"] and not is_bare:
            raise RefusedError(422, "bad_support", "positives: expected at least one, found none")
        for node in [*ask["positives"], *ask["negatives"], *ask.get("nodes", [])]:
            graph.circle[node]  # an unknown node is a 404
        if what == "rank":
            return self._rank(graph, ask)
        if what == "export":
            return self._export(graph, ask)
        return self._json(ANSWERS[what](graph, ask))

    def _rank(self, graph: graphs.FakeGraph, ask: JSON) -> None:
        events = graphs.rank(graph, ask)
        if self.headers.get("Accept") != "text/event-stream":
            return self._json(dict(events)["result"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in events:
            self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        return None

    def _export(self, graph: graphs.FakeGraph, ask: JSON) -> None:
        rows = dict(graphs.rank(graph, ask))["result"]["rows"]
        form = self.query["format"]
        text = io.StringIO()
        if form == "csv":
            columns = ["node", "rank", "probability", "low", "high", "holds"]
            writer = csv.DictWriter(text, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(row | {"node": _harmless(str(row["node"]))} for row in rows)
        else:
            json.dump(rows, text)
        more = {"Content-Disposition": f'attachment; filename="ranking.{form}"'}
        self._send(200, text.getvalue().encode(), "application/octet-stream", more)

    # --- projects ------------------------------------------------------------------------------

    def _project(self, rest: list[str]) -> None:
        projects = self.server.projects
        try:
            match [self.command, *rest]:
                case ["GET"]:
                    is_deleted = self.query.get("deleted") == "true"
                    limit = int(self.query.get("limit", 100))
                    self._json(projects.all(is_deleted, self.query.get("model"), limit))
                case ["POST", "purge"]:
                    self._json({"num_purged": projects.purge()})
                case ["POST"]:
                    self._json(projects.create(self._marked(json.loads(self.body))), 201)
                case ["POST", "import"]:
                    self._json(projects.create(self._marked(self.query | self._marks())), 201)
                case ["GET", key]:
                    self._json(projects.get(key))
                case ["PUT", key]:
                    self._json(projects.put(key, json.loads(self.body)))
                case ["DELETE", key]:
                    self._json(projects.delete(key, int(self.query["version"])))
                case ["POST", key, "undo" | "redo" as way]:
                    version = json.loads(self.body)["version"]
                    self._json(projects.move(key, version, -1 if way == "undo" else 1))
                case ["POST", key, "restore"]:
                    self._json(projects.restore(key))
                case ["GET", key, "history"]:
                    self._json({"versions": projects.history(key)})
                case ["GET", key, "csv"]:
                    self._csv(projects.get(key))
                case _:
                    raise RefusedError(404, "bad_request", "no such path")
        except ConflictError as error:
            yours = json.loads(self.body or b"{}")
            message = "the project was changed by someone else"
            raise RefusedError(409, "conflict", message, yours=yours, theirs=error.theirs) from None

    def _marked(self, content: JSON) -> JSON:
        name = content["model"]
        return content | {"graph": {"name": name, "fingerprint": _fingerprint(name)}}

    def _marks(self) -> JSON:
        rows = list(csv.DictReader(io.StringIO(self.body.decode())))
        graph = self.server.graphs[self.query["model"]]
        return {
            name: [graph.by_text[row["node"]] for row in rows if row["mark"] == mark]
            for name, mark in (("positives", "holds"), ("negatives", "lacks"))
        }

    def _csv(self, project: JSON) -> None:
        lines = [("node", "mark")]
        lines += [(node, "holds") for node in project["positives"]]
        lines += [(node, "lacks") for node in project["negatives"]]
        text = io.StringIO()
        csv.writer(text).writerows(lines)
        more = {"Content-Disposition": 'attachment; filename="marks.csv"'}
        self._send(200, text.getvalue().encode(), "text/csv", more)

    # --- sending -------------------------------------------------------------------------------

    def _file(self, parts: list[str]) -> None:
        names = {str(path.relative_to(PAGE)): path for path in PAGE.rglob("*") if path.is_file()}
        path = names.get("/".join(parts) or "index.html")
        if path is None:
            raise RefusedError(404, "bad_request", "no such file")
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        csp = {"Content-Security-Policy": "default-src 'self'", "Cache-Control": "no-cache"}
        self._send(200, path.read_bytes(), kind, csp)

    def _json(self, body: JSON, status: int = 200) -> None:
        more = {"Retry-After": "1"} if status == 503 else {}
        self._send(status, json.dumps(body).encode(), "application/json", more)

    def _send(self, status: int, body: bytes, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _model(graph: graphs.FakeGraph) -> JSON:
    return {
        "name": graph.name,
        "graph": graph.name,
        "fingerprint": _fingerprint(graph.name),
        "num_nodes": len(graph.ids),
        "num_known_labels": len({label for held in graph.labels.values() for label in held}),
        "head": "evidence",
        "can": list(graph.can),
        "typical_share": 0.02,
        "example": graph.example,
        "is_better_than_controls": graph.is_better,
        "verdict": f"the model is {'' if graph.is_better else 'no '}better than its controls",
    }


def _fingerprint(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _found(names: Iterable[Any], text: str) -> list[Any]:
    wanted = unicodedata.normalize("NFC", text).casefold()
    having = [name for name in names if wanted in str(name).casefold()]
    return sorted(having, key=lambda name: not str(name).casefold().startswith(wanted))


def _labels(graph: graphs.FakeGraph, text: str, limit: int) -> JSON:
    holders = Counter(label for held in graph.labels.values() for label in held)
    found = _found(sorted(holders), text)
    labels = [{"label": label, "num_holders": holders[label]} for label in found[:limit]]
    return {"labels": labels, "more": len(found) > limit}


def _search(graph: graphs.FakeGraph, text: str, limit: int) -> JSON:
    found = _found(graph.ids, text)
    nodes = [
        {"id": node, "degree": len(graph.neighbours[node]), "labels": graph.labels[node][:5]}
        for node in found[:limit]
    ]
    return {"nodes": nodes, "more": len(found) > limit}


def _card(graph: graphs.FakeGraph, node: graphs.Id) -> JSON:
    around = sorted(graph.neighbours[node], key=str)
    return {
        "id": node,
        "degree": len(around),
        "neighbours": [{"id": other, "weight": 1.0} for other in around[:50]],
        "num_neighbours": len(around),
        "labels": graph.labels[node],
        "is_annotated": bool(graph.labels[node]),
    }


def _harmless(text: str) -> str:
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def main() -> None:
    """Serves until it is ended."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=8001)
    options.add_argument("--token")
    options.add_argument(
        "--slow", type=float, default=3.0, help="seconds a ranking of people takes"
    )
    given = options.parse_args()
    server = Fake(given.port, given.token, given.slow)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
