"""Checksums, so that what is read is what was written.

They are against accidents (a failing disk, a copy cut short), not against forgers: XXH3 reads
memory as fast as it comes, so that even a graph of gigabytes is checked whenever it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash

SEAL = "checksum"
_BYTES_AT_A_TIME = 1 << 22


def checksum(*parts: bytes | memoryview) -> str:
    """Of the parts one after another."""
    found = xxhash.xxh3_128()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def file_checksum(path: Path) -> str:
    """Of a file, read piece by piece: mapped, it would count as memory of this process."""
    found = xxhash.xxh3_128()
    buffer = memoryview(bytearray(_BYTES_AT_A_TIME))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            found.update(buffer[:size])
    return found.hexdigest()


def parse_json(text: str | bytes) -> Any:
    """What is written; ValueError for what is no JSON, and for what is nested without end."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value with a checksum of itself, which comes first."""
    return {SEAL: _checksum_of(value), **value}


def is_whole(value: Mapping[str, Any]) -> bool:
    """Whether a sealed value is what was sealed."""
    content = {key: part for key, part in value.items() if key != SEAL}
    try:
        return bool(value.get(SEAL) == _checksum_of(content))
    except ValueError:  # NaN, which nobody seals
        return False


def _checksum_of(value: Mapping[str, Any]) -> str:
    return checksum(json.dumps(value, sort_keys=True, allow_nan=False).encode())
