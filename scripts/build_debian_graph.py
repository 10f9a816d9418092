"""Build the embedded graph from Debian's package index.

    python scripts/build_debian_graph.py --release "Debian 12.15 (bookworm) main amd64"

calls `apt-cache dumpavail`; `--index FILE` reads a saved one, and `-` stands for stdin.

Nodes are packages of the index with at least one link. A link is any package named in
Depends, Pre-Depends, Recommends, Suggests or Enhances: each alternative of `a | b` is one,
version constraints and architectures are stripped. A name that the index lacks is left
out, and so is a virtual package (one that is only Provided): which package stands in for
it is the choice of each installation, and an edge to every provider would join packages
that exclude each other.

Labels are the tags of the field Tag that at least 40 of these packages hold. A package
with the field is annotated, even if none of its tags is kept; one without is unknown.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from metatne.graph import debian
from metatne.graph.debian import PackageIndex

LINK_FIELDS = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances")
FIELDS = ("Package", "Tag", *LINK_FIELDS)
MIN_HOLDERS = 40
DATA = Path(__file__).parents[1] / "src" / "metatne" / "graph" / "data" / debian.FILE

PACKAGE_NAME = re.compile(r"[a-z0-9][a-z0-9+.\-]*")
TAG_OR_GROUP = re.compile(r"([^\s,{}]+::)\{([^}]*)\}|([^\s,{}]+)")


def stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The wanted fields of each package; continued lines are joined."""
    fields: dict[str, str] = {}
    current = ""
    for line in lines:
        if not line.strip():
            if fields:
                yield fields
            fields, current = {}, ""
        elif line[0] in " \t":
            if current:
                fields[current] += line
        else:
            name, _, value = line.partition(":")
            current = name if name in FIELDS else ""
            if current:
                fields[current] = value
    if fields:
        yield fields


def linked_names(fields: dict[str, str]) -> set[str]:
    """The packages that a package names: `a (>= 1) | b:any [amd64], c` gives a, b and c."""
    relations = ",".join(fields.get(name, "") for name in LINK_FIELDS)
    starts = (PACKAGE_NAME.match(part.strip()) for part in re.split(r"[,|]", relations))
    return {match[0] for match in starts if match}


def tags_of(field: str) -> set[str]:
    """The tags of a Tag field: `a::b, c::{d, e}` gives a::b, c::d and c::e."""
    tags = set()
    for facet, group, single in TAG_OR_GROUP.findall(field):
        tags |= {facet + name.strip() for name in group.split(",")} if facet else {single}
    return tags


def read_index(
    lines: Iterable[str], *, release: str, min_holders: int = MIN_HOLDERS
) -> PackageIndex:
    """The connected packages of an index, their links and their frequent tags."""
    index = {fields["Package"].strip(): fields for fields in stanzas(lines)}
    named = {
        name: {other for other in linked_names(fields) if other in index and other != name}
        for name, fields in index.items()
    }
    connected = {name for name, others in named.items() if others}.union(*named.values())
    packages = sorted(connected)
    number = {name: place for place, name in enumerate(packages)}

    tags = {name: tags_of(index[name]["Tag"]) for name in packages if "Tag" in index[name]}
    num_holders = Counter(tag for held in tags.values() for tag in held)
    kept = sorted(tag for tag, count in num_holders.items() if count >= min_holders)
    tag_number = {tag: place for place, tag in enumerate(kept)}

    # Where two packages name each other the first keeps the edge.
    links = [
        sorted(number[other] for other in named[name] if other > name or name not in named[other])
        for name in packages
    ]
    held = [
        sorted(tag_number[tag] for tag in tags.get(name, ()) if tag in tag_number)
        for name in packages
    ]
    is_tagged = [name in tags for name in packages]
    return PackageIndex(
        release=release,
        packages=packages,
        tags=kept,
        num_links=_array(len(others) for others in links),
        links=_array(other for others in links for other in others),
        tagging=_array(
            1 + len(h) if tagged else 0 for h, tagged in zip(held, is_tagged, strict=True)
        ),
        held_tags=_array(tag for tags_held in held for tag in tags_held),
    )


def _array(values: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.fromiter(values, dtype=np.uint32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", help="an index in the form of `apt-cache dumpavail`")
    parser.add_argument("--release", required=True, help='which index this is ("Debian 12.15 …")')
    parser.add_argument("--output", type=Path, default=DATA)
    arguments = parser.parse_args()
    if arguments.index is None:
        run = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True)
        text = run.stdout.decode("utf-8")
    elif arguments.index == "-":
        text = sys.stdin.buffer.read().decode("utf-8")
    else:
        text = Path(arguments.index).read_text(encoding="utf-8")
    index = read_index(text.split("\n"), release=arguments.release)
    if not index.packages:
        sys.exit("the index has no linked packages; run `apt-get update` first")
    data = debian.encode(index)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_bytes(data)
    print(f"{arguments.output}: {len(data):,} bytes")
    print(
        f"{len(index.packages):,} packages, {len(index.links):,} edges, "
        f"{int((index.tagging > 0).sum()):,} tagged, {len(index.tags)} tags held by "
        f"{MIN_HOLDERS} or more, {len(index.held_tags):,} held"
    )
    print(f"sha256 {hashlib.sha256(data).hexdigest()} (SHA256 in {debian.__file__})")


if __name__ == "__main__":
    main()
