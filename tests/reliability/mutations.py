"""Files harmed at random, from a seed: bytes flipped, cut short, emptied, or another's in place."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

KINDS = ("flip", "overwrite", "cut", "empty", "lengthen", "swap")


def harm(file: Path, others: Sequence[Path], seed: int) -> str:
    """Change the file in place, and say how; `others` are what it can be swapped with."""
    draw = random.Random(seed)
    content = bytearray(file.read_bytes())
    kind = draw.choice(KINDS)
    if kind == "flip":
        place = draw.randrange(len(content))
        content[place] ^= 1 << draw.randrange(8)
        told = f"a bit of byte {place} flipped"
    elif kind == "overwrite":
        place = draw.randrange(len(content))
        size = draw.randint(1, 16)
        content[place : place + size] = draw.randbytes(len(content[place : place + size]))
        told = f"up to {size} bytes from {place} on overwritten"
    elif kind == "cut":
        size = draw.randrange(1, len(content))
        del content[size:]
        told = f"cut to {size} bytes"
    elif kind == "empty":
        content.clear()
        told = "emptied"
    elif kind == "lengthen":
        content += draw.randbytes(draw.randint(1, 64))
        told = "lengthened"
    else:
        other = draw.choice(others)
        content = bytearray(other.read_bytes())
        told = f"swapped with {other}"
    file.write_bytes(content)
    return f"{file.name} {told} (seed {seed})"
