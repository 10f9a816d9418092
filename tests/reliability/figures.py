"""What the long studies saw, kept in results/reliability.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metatne.bench.measuring import machine_facts
from metatne.storage import write_json

FILE = Path(__file__).parents[2] / "results" / "reliability.json"


def record(study: str, **seen: Any) -> None:
    """Replace what is kept of this study."""
    facts = machine_facts()
    seen |= {name: facts[name] for name in ("date", "cpu", "commit")}
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    write_json(FILE, dict(sorted((known | {study: seen}).items())))
