"""Projects in memory, with versions, undo and conflicts as the service has them."""

from __future__ import annotations

import itertools
import threading
from datetime import UTC, datetime
from typing import Any

JSON = dict[str, Any]
CONTENT = ("name", "model", "positives", "negatives", "notes", "threshold", "prior")


class ConflictError(Exception):
    """Someone else was faster."""

    def __init__(self, theirs: JSON) -> None:
        self.theirs = theirs


class FakeProjects:
    """Every project is the list of its contents; undo moves along it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.projects: dict[str, JSON] = {}
        self.numbers = itertools.count(1)

    def create(self, content: JSON) -> JSON:
        with self.lock:
            now = _now()
            project = {
                "id": f"p{next(self.numbers)}",
                "graph": content["graph"],
                "contents": [_content(content)],
                "at": 0,
                "version": 1,
                "created": now,
                "changed": now,
                "deleted": False,
                "history": [],
            }
            self.projects[project["id"]] = project
            return _keep(project, "created")

    def all(self, deleted: bool, model: str | None = None, limit: int = 100) -> JSON:
        with self.lock:
            found = [_shown(p) for p in self.projects.values() if p["deleted"] == deleted]
        found = [_summary(p) for p in found if model in (None, p["model"])]
        found.sort(key=lambda project: project["changed"], reverse=True)
        return {"projects": found[:limit], "num_projects": len(found)}

    def purge(self) -> int:
        with self.lock:
            gone = [key for key, project in self.projects.items() if project["deleted"]]
            for key in gone:
                del self.projects[key]
            return len(gone)

    def get(self, key: str) -> JSON:
        with self.lock:
            return _shown(self.projects[key])

    def put(self, key: str, content: JSON) -> JSON:
        with self.lock:
            project = self._at_version(key, content["version"])
            project["contents"][project["at"] + 1 :] = [_content(content)]
            project["at"] += 1
            return _step(project, "changed")

    def move(self, key: str, version: int, by: int) -> JSON:
        with self.lock:
            project = self._at_version(key, version)
            project["at"] = min(max(project["at"] + by, 0), len(project["contents"]) - 1)
            return _step(project, "undone" if by < 0 else "redone")

    def delete(self, key: str, version: int) -> JSON:
        with self.lock:
            project = self._at_version(key, version)
            project["deleted"] = True
            return _step(project, "deleted")

    def restore(self, key: str) -> JSON:
        with self.lock:
            project = self.projects[key]
            project["deleted"] = False
            return _step(project, "restored")

    def history(self, key: str) -> list[JSON]:
        with self.lock:
            return list(self.projects[key]["history"])

    def _at_version(self, key: str, version: int) -> JSON:
        project = self.projects[key]
        if project["version"] != version:
            raise ConflictError(_shown(project))
        return project


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _content(of: JSON) -> JSON:
    empty: JSON = {"positives": [], "negatives": [], "notes": "", "threshold": None, "prior": None}
    return {key: of.get(key, empty.get(key)) for key in CONTENT}


def _step(project: JSON, what: str) -> JSON:
    project["version"] += 1
    project["changed"] = _now()
    return _keep(project, what)


def _keep(project: JSON, what: str) -> JSON:
    shown = _shown(project)
    project["history"].append(
        {
            "version": shown["version"],
            "changed": shown["changed"],
            "name": shown["name"],
            "num_positives": len(shown["positives"]),
            "num_negatives": len(shown["negatives"]),
            "what": what,
        }
    )
    return shown


def _summary(shown: JSON) -> JSON:
    keys = ("id", "name", "model", "graph", "version", "created", "changed", "deleted")
    counts = {f"num_{side}": len(shown[side]) for side in ("positives", "negatives")}
    return {key: shown[key] for key in keys} | counts


def _shown(project: JSON) -> JSON:
    plain = {
        key: project[key] for key in ("id", "graph", "version", "created", "changed", "deleted")
    }
    at, contents = project["at"], project["contents"]
    can = {"can_undo": at > 0, "can_redo": at < len(contents) - 1}
    return plain | contents[at] | can
