"""What the long studies saw, kept in results/reliability.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metatne.storage import write_json

FILE = Path(__file__).parents[2] / "results" / "reliability.json"


def record(study: str, **seen: Any) -> None:
    """Replace what is kept of this study."""
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    write_json(FILE, dict(sorted((known | {study: seen}).items())))
