"""A small graph and plausible answers about it, the same every time: no model is trained here.

Nodes live in circles; a node is likely to hold the label when positives share its circle.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Id = str | int
JSON = dict[str, Any]

CIRCLES = (
    "audio", "video", "games", "science", "network", "editors", "fonts", "python", "perl", "web",
)  # fmt: skip
STEMS = (
    "sox", "lmms", "ardour", "tux", "vim", "gnu", "open", "free", "quick", "deep", "blue", "nano",
    "hydro", "astro", "micro", "meta", "para", "hyper", "lib", "tiny",
)  # fmt: skip
ENDS = ("", "-dev", "-tools", "-data", "-doc", "ctl", "view", "edit", "lab", "kit", "base", "plus")
ODD_NAMES = (
    "<img src=x onerror=alert(1)>",
    "Zoë’s café tools",
    "日本語フォント",
    '=HYPERLINK("x")',
)


@dataclass
class FakeGraph:
    """Nodes with circles, edges and known labels."""

    name: str
    ids: list[Id]
    circle: dict[Id, int]
    neighbours: dict[Id, set[Id]]
    labels: dict[Id, list[str]]
    seconds_per_ranking: float = 0.0
    can: tuple[str, ...] = ("rank", "explain", "relate", "suggest", "map", "ego")
    example: JSON | None = None
    is_better: bool = True
    by_text: dict[str, Id] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_text = {str(node): node for node in self.ids}


def named_graph() -> FakeGraph:
    """Twelve hundred packages, some with names that a page has to be careful with."""
    names = [f"{stem}{end}{n or ''}" for n in range(5) for stem in STEMS for end in ENDS]
    graph = _graph("packages", [*names, *ODD_NAMES], seed=1)
    audio = [node for node in graph.ids if graph.circle[node] == 0]
    others = [node for node in graph.ids if graph.circle[node] != 0]
    graph.example = {
        "name": "works-with::audio",
        "positives": audio[:10],
        "negatives": others[:200:10],
    }
    return graph


def numbered_graph(seconds_per_ranking: float) -> FakeGraph:
    """Three hundred people under integers that a JavaScript number cannot hold."""
    graph = _graph("people", [9_007_199_254_740_993 + n for n in range(300)], seed=2)
    graph.seconds_per_ranking = seconds_per_ranking
    graph.can = ("rank", "ego")
    graph.is_better = False
    return graph


def _graph(name: str, ids: list[Any], seed: int) -> FakeGraph:
    draw = random.Random(seed)
    circle = {node: draw.randrange(len(CIRCLES)) for node in ids}
    members = [[node for node in ids if circle[node] == c] for c in range(len(CIRCLES))]
    neighbours: dict[Id, set[Id]] = {node: set() for node in ids}
    for node in ids:
        for _ in range(3):
            near = members[circle[node]] if draw.random() < 0.8 else ids
            other = near[int(len(near) * draw.random() ** 2)]  # the first are hubs
            if other != node:
                neighbours[node].add(other)
                neighbours[other].add(node)
    labels = {node: [] if draw.random() < 0.3 else _labels(circle[node], draw) for node in ids}
    return FakeGraph(name, ids, circle, neighbours, labels)


def _labels(circle: int, draw: random.Random) -> list[str]:
    found = [f"use::{CIRCLES[circle]}"]
    if draw.random() < 0.5:
        found.append(f"role::{draw.choice(('program', 'library', 'data', 'documentation'))}")
    return found


# --- answers -----------------------------------------------------------------------------------


def _noise(*parts: object) -> float:
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 - 0.5


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def pulls(graph: FakeGraph, node: Id, ask: JSON) -> list[JSON]:
    """What adds up to the node's log-odds."""
    prior = ask.get("prior") or 0.02
    parts: list[JSON] = [
        _part("prior", None, math.log(prior / (1 - prior))),
        _part("any label", None, 0.3 * _noise("any", node)),
    ]
    for reason, marked, sign in (
        ("holds it", ask["positives"], 1.0),
        ("lacks it", ask["negatives"], -0.3),
    ):
        for other in marked:
            is_near = graph.circle[other] == graph.circle[node]
            share = len(graph.neighbours[other] & graph.neighbours[node])
            pull = (0.22 if is_near else -0.01) + 0.35 * share + 0.5 * _noise(node, other)
            parts.append(_part(reason, other, sign * pull))
    return parts


def _part(reason: str, node: Id | None, contribution: float) -> JSON:
    blocks = {"place": 0.6 * contribution, "labels": 0.4 * contribution}
    return {"reason": reason, "node": node, "contribution": contribution, "blocks": blocks}


def log_odds(graph: FakeGraph, node: Id, ask: JSON) -> float:
    """The sum of all pulls."""
    return sum(part["contribution"] for part in pulls(graph, node, ask))


def rank(graph: FakeGraph, ask: JSON) -> Iterator[tuple[str, JSON]]:
    """Events of a ranking: progress while it goes on, then the result."""
    started = time.monotonic()
    marked = {*ask["positives"], *ask["negatives"]}
    passes = _filter(graph, ask.get("filter") or {})
    nodes = [node for node in graph.ids if node not in marked and passes(node)]
    steps = 20 if graph.seconds_per_ranking else 1
    for step in range(steps):
        yield "progress", {"done": len(nodes) * step // steps, "total": len(nodes)}
        time.sleep(graph.seconds_per_ranking / steps)
    scored = sorted(((log_odds(graph, node, ask), node) for node in nodes), key=_by_score)
    threshold = 0.35
    moved = ask.get("threshold")

    def holds(node: Id, p: float) -> bool:
        """As a model decides: nodes without labels have a line of their own."""
        return p >= (moved if moved is not None else threshold if graph.labels[node] else 0.6)

    offset = ask.get("offset", 0)
    rows = []
    for place, (score, node) in enumerate(scored[offset : offset + ask.get("top", 50)]):
        p = _sigmoid(score)
        rows.append(
            {
                "node": node,
                "rank": offset + place + 1,
                "probability": p,
                "low": _sigmoid(score - 0.7),
                "high": _sigmoid(score + 0.7),
                "holds": holds(node, p),
                "labels": graph.labels[node][:5],
            }
        )
    yield (
        "result",
        {
            "rows": rows,
            "num_ranked": len(scored),
            "num_all": len(graph.ids) - len(marked),
            "num_holding": sum(holds(node, _sigmoid(score)) for score, node in scored),
            "prior": ask.get("prior") or 0.02,
            "threshold": threshold,
            "weak_negatives": [] if ask["negatives"] else graph.ids[50:70],
            "seconds": time.monotonic() - started,
        },
    )


def _by_score(scored: tuple[float, Id]) -> tuple[float, str]:
    return -scored[0], str(scored[1])


def _filter(graph: FakeGraph, wanted: JSON) -> Callable[[Id], bool]:
    def passes(node: Id) -> bool:
        labels = graph.labels[node]
        return (
            (wanted.get("holds") is None or wanted["holds"] in labels)
            and (wanted.get("lacks") is None or wanted["lacks"] not in labels)
            and (wanted.get("annotated") is None or wanted["annotated"] == bool(labels))
            and len(graph.neighbours[node]) >= (wanted.get("min_degree") or 0)
            and (wanted.get("contains") or "").casefold() in str(node).casefold()
        )

    return passes


def explain(graph: FakeGraph, ask: JSON) -> JSON:
    """Reasons, shared neighbours and labels of one node."""
    node = ask["node"]
    parts = pulls(graph, node, ask)
    score = sum(part["contribution"] for part in parts)
    marked = [*ask["positives"], *ask["negatives"]]
    shared = [
        {"id": other, "with": [m for m in marked if other in graph.neighbours[m]]}
        for other in sorted(graph.neighbours[node], key=str)
    ]
    weights = {row["label"]: row["weight"] for row in relate(graph, ask)["labels"]}
    return {
        "node": node,
        "probability": _sigmoid(score),
        "log_odds": score,
        "parts": parts,
        "shared_neighbours": [row for row in shared if row["with"]][:20],
        "labels": graph.labels[node],
        "label_weights": [
            {"label": label, "weight": weights[label]} for label in graph.labels[node]
        ],
    }


def relate(graph: FakeGraph, ask: JSON) -> JSON:
    """Known labels, by how many more positives than negatives hold them."""
    labels = sorted({label for held in graph.labels.values() for label in held})

    def weight(label: str) -> float:
        for_it = sum(label in graph.labels[node] for node in ask["positives"])
        against = sum(label in graph.labels[node] for node in ask["negatives"])
        return math.log1p(for_it) - math.log1p(against) + 0.2 * _noise(label)

    rows = [{"label": label, "weight": weight(label)} for label in labels]
    rows.sort(key=lambda row: -row["weight"])
    return {"labels": rows[: ask.get("top", 20)]}


def suggest(graph: FakeGraph, ask: JSON) -> JSON:
    """The nodes that are hardest to decide."""
    marked = {*ask["positives"], *ask["negatives"]}
    scored = [(node, _sigmoid(log_odds(graph, node, ask))) for node in graph.ids]
    unsure = sorted(
        ((node, p) for node, p in scored if node not in marked), key=lambda row: abs(row[1] - 0.35)
    )
    return {
        "nodes": [
            {"id": node, "probability": p, "labels": graph.labels[node][:5]}
            for node, p in unsure[: ask.get("number", 10)]
        ]
    }


def place(graph: FakeGraph, ask: JSON) -> JSON:
    """Two places of each node: by its circle, and by its probability."""
    points = []
    roles = dict.fromkeys(ask["positives"], "positive")
    roles |= dict.fromkeys(ask["negatives"], "negative")
    for node in dict.fromkeys([*roles, *ask["nodes"]]):
        turn = 2 * math.pi * graph.circle[node] / len(CIRCLES)
        before = [
            0.75 * math.cos(turn) + 0.25 * _noise("x", node),
            0.75 * math.sin(turn) + 0.25 * _noise("y", node),
        ]
        p = _sigmoid(log_odds(graph, node, ask))
        after = [1.6 * (p - 0.5) + 0.1 * _noise("ax", node), 1.2 * _noise("ay", node)]
        role = roles.get(node, "candidate")
        points.append(
            {"node": node, "before": before, "after": after, "probability": p, "role": role}
        )
    return {"points": points}


def ego(graph: FakeGraph, ask: JSON) -> JSON:
    """The nodes asked about and their neighbours."""
    roles: dict[Id, str] = {node: "neighbour" for n in ask["nodes"] for node in graph.neighbours[n]}
    roles |= {node: "positive" for node in ask["positives"] if node in roles}
    roles |= {node: "negative" for node in ask["negatives"] if node in roles}
    roles = dict.fromkeys(ask["nodes"], "asked") | {
        node: role for node, role in roles.items() if node not in ask["nodes"]
    }
    most = ask.get("max_nodes", 60)
    kept = list(roles)[:most]
    edges = [
        {"source": a, "target": b, "weight": 1.0}
        for i, a in enumerate(kept)
        for b in kept[i + 1 :]
        if b in graph.neighbours[a]
    ]
    nodes = [
        {
            "id": node,
            "degree": len(graph.neighbours[node]),
            "role": roles[node],
            "probability": _sigmoid(log_odds(graph, node, ask)) if ask["positives"] else None,
        }
        for node in kept
    ]
    return {"nodes": nodes, "edges": edges, "cut": len(roles) > most}
