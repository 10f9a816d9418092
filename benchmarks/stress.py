"""The service under stress: mixed load, clients that misbehave, and kill -9 in between.

    python benchmarks/stress.py [--seconds 1800] [--lives 4] [--nodes 3000] [--out FILE.json]

A service has one process (its work runs in threads), so what is killed is all of it: `--lives`
times it is started on the same data directory, and all but the last time it is ended by SIGKILL
under full load. Held to its promises: no 5xx but 503; memory and handles stay where they are;
nobody who behaves is cut off but by the kill; every write that was acknowledged is there after
every start. Exit code 1 where one is broken. The figures go to `--out` (results/stress.json).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import rough_clients
from watching import Watch

from metatne.bench.measuring import machine_facts
from metatne.storage import write_json
from service import Ask, asks, served, train

ASKERS, LABELLERS, ROUGH, SLOW = 4, 2, 2, 2
PROJECTS_EACH = 10
PROJECTS = "/api/v1/projects"
LOOK_EVERY = 1.0


@dataclass
class Tally:
    """What came of all requests."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    broken: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, kind: str, status: int | None, seconds: float | None = None) -> None:
        with self.lock:
            self.outcomes[kind, "none" if status is None else str(status)] += 1
            if seconds is not None and status is not None and status < 400:
                self.seconds[kind].append(seconds)
        if status is not None and status >= 500 and status != 503:
            self.breach(f"{kind} was told {status}")

    def breach(self, what: str) -> None:
        """Note a promise that was not kept."""
        with self.lock:
            self.broken.append(what)

    def figures(self) -> dict[str, Any]:
        by_kind: dict[str, Any] = {}
        for (kind, outcome), number in sorted(self.outcomes.items()):
            by_kind.setdefault(kind, {})[outcome] = number
        for kind, times in self.seconds.items():
            p50, p99 = np.quantile(times, (0.5, 0.99))
            by_kind[kind] |= {
                "p50_ms": round(1000 * float(p50), 1),
                "p99_ms": round(1000 * float(p99), 1),
            }
        return by_kind


@dataclass
class Life:
    """One run of the service; `url` is None when it is being ended."""

    url: str | None
    tally: Tally
    num_nodes: int

    def run(self, work: Callable[[str], None], kind: str) -> None:
        """Work again and again; who is cut off while the service lives is noted."""
        while (url := self.url) is not None:
            try:
                work(url)
            except (httpx.TransportError, OSError) as error:
                if self.url is None:
                    self.tally.count(kind, None)
                    return
                self.tally.breach(f"{kind} was cut off: {error!r}")
                time.sleep(0.1)


class Labeller:
    """Writes label projects, and knows what was acknowledged."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng(10_000 + number)
        self.acknowledged: dict[str, dict[str, Any]] = {}
        self.tried: dict[str, dict[str, Any]] = {}
        self.num_writes = 0

    def write(self, http: httpx.Client, tally: Tally) -> None:
        """One more project, or one more version of one."""
        nodes = self.rng.choice(1_000, 6, replace=False).tolist()
        body = {"name": "stress", "model": "model", "positives": nodes[:3], "negatives": nodes[3:]}
        started = time.perf_counter()
        if len(self.acknowledged) < PROJECTS_EACH:
            response = http.post(PROJECTS, json=body)
            kind = "create project"
        else:
            known = self.acknowledged[str(self.rng.choice(list(self.acknowledged)))]
            body |= {"version": known["version"], "notes": str(self.num_writes)}
            self.tried[known["id"]] = body
            response = http.put(f"{PROJECTS}/{known['id']}", json=body)
            kind = "change project"
        tally.count(kind, response.status_code, time.perf_counter() - started)
        if response.status_code in (200, 201):
            project = response.json()
            self.acknowledged[project["id"]] = project
            self.num_writes += 1
        elif response.status_code != 503:
            tally.breach(f"{kind} was told {response.status_code}: {response.text[:200]}")
        time.sleep(0.02)

    def check(self, http: httpx.Client, tally: Tally) -> None:
        """Hold what is stored against what was acknowledged; a last try may have come through."""
        for project_id, known in self.acknowledged.items():
            found = http.get(f"{PROJECTS}/{project_id}").json()
            expected = known
            if found.get("version") == known["version"] + 1 and project_id in self.tried:
                expected = known | self.tried[project_id] | {"version": known["version"] + 1}
            for name in ("version", "notes", "positives", "negatives"):
                if found.get(name) != expected[name]:
                    tally.breach(f"{name} of a project: {expected[name]} became {found.get(name)}")
            versions = http.get(f"{PROJECTS}/{project_id}/history").json()["versions"]
            if [version["version"] for version in versions] != list(range(len(versions), 0, -1)):
                tally.breach("a version of a project is missing")
            self.acknowledged[project_id] = found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--lives", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=3_000)
    parser.add_argument("--out", type=Path, default=Path("results/stress.json"))
    options = parser.parse_args()
    tally, labellers = Tally(), [Labeller(number) for number in range(LABELLERS)]
    watched = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        train(Path(folder), options.nodes)
        for number in range(options.lives):
            is_last = number == options.lives - 1
            with served(Path(folder)) as (url, process):
                check_writes(url, labellers, tally)
                watched.append(live(url, process, options, tally, labellers, is_killed=not is_last))
                if is_last:
                    check_writes(url, labellers, tally)
            print(f"life {number + 1}: {watched[-1]}", flush=True)
    for number, figures in enumerate(watched):
        if figures["is_flat"] is False:
            tally.breach(f"memory or handles grew in life {number + 1}: {figures}")
    report = {
        "seconds": round(time.monotonic() - started),
        "nodes": options.nodes,
        "kills": options.lives - 1,
        "clients": ASKERS + LABELLERS + ROUGH + SLOW,
        "requests": sum(tally.outcomes.values()),
        "acknowledged_writes": sum(labeller.num_writes for labeller in labellers),
        "broken": tally.broken[:20],
        "num_broken": len(tally.broken),
        "asked": tally.figures(),
        "lives": watched,
        "machine": machine_facts(),
    }
    write_json(options.out, report)
    print(json.dumps(report))
    sys.exit(bool(tally.broken))


def check_writes(url: str, labellers: list[Labeller], tally: Tally) -> None:
    with httpx.Client(base_url=url, timeout=120, verify=False) as http:
        for labeller in labellers:
            labeller.check(http, tally)


def live(
    url: str,
    process: psutil.Process,
    options: argparse.Namespace,
    tally: Tally,
    labellers: list[Labeller],
    *,
    is_killed: bool,
) -> dict[str, Any]:
    """All clients at once for this life's share of the seconds, then its end."""
    life, watch = Life(url, tally, options.nodes), Watch()
    threads = [
        threading.Thread(target=look, args=(life, watch, process)),
        *(threading.Thread(target=asker, args=(life, number)) for number in range(ASKERS)),
        *(threading.Thread(target=label, args=(life, labeller)) for labeller in labellers),
        *(
            threading.Thread(target=misbehave, args=(life, kinds, number))
            for kinds, count in ((rough_clients.QUICK, ROUGH), (slow_clients(life), SLOW))
            for number in range(count)
        ),
    ]
    for thread in threads:
        thread.start()
    time.sleep(options.seconds / options.lives)
    life.url = None
    if is_killed:
        process.kill()
    for thread in threads:
        thread.join()
    return watch.figures()


def look(life: Life, watch: Watch, process: psutil.Process) -> None:
    """Watch the service's memory, without the rankings that it keeps up to a bound of its own."""
    with httpx.Client(base_url=life.url or "", timeout=120, verify=False) as http:

        def work(url: str) -> None:
            kept = re.search(r"^metatne_kept_bytes (\S+)", http.get("/metrics").text, re.MULTILINE)
            if kept is not None:
                watch.look(process, kept_mib=float(kept[1]) / 2**20)
            time.sleep(LOOK_EVERY)

        life.run(work, "look")


def asker(life: Life, number: int) -> None:
    rng = np.random.default_rng(number)
    every: list[tuple[str, Ask]] = list(asks(life.num_nodes).items())
    with httpx.Client(timeout=120, verify=False) as http:

        def work(url: str) -> None:
            http.base_url = url
            kind, ask = every[int(rng.integers(len(every)))]
            started = time.perf_counter()
            status = ask(http, rng).status_code
            life.tally.count(kind, status, time.perf_counter() - started)
            if status not in (200, 503):
                life.tally.breach(f"{kind} was told {status}")

        life.run(work, "ask")


def label(life: Life, labeller: Labeller) -> None:
    with httpx.Client(base_url=life.url or "", timeout=120, verify=False) as http:
        life.run(lambda url: labeller.write(http, life.tally), "write")


def slow_clients(life: Life) -> dict[str, rough_clients.Rough]:
    def slow_body(url: str, rng: np.random.Generator) -> int | None:
        return rough_clients.slow_body(url, lambda: life.url is None)

    return {"slow body": slow_body}


def misbehave(life: Life, kinds: dict[str, rough_clients.Rough], number: int) -> None:
    rng = np.random.default_rng(20_000 + number)
    names = list(kinds)

    def work(url: str) -> None:
        kind = names[int(rng.integers(len(names)))]
        try:
            life.tally.count(kind, kinds[kind](url, rng))
        except ConnectionError:  # whoever misbehaves may be hung up on
            life.tally.count(kind, None)
        time.sleep(0.05)

    life.run(work, "rough")


if __name__ == "__main__":
    main()
