"""The examples of a label project as CSV: a node and `holds` or `lacks` on each line."""

from __future__ import annotations

import csv
import io

from metatne.graph.node_ids import NodeId
from metatne.graph.readers.text import BadLines, check_text, quoted
from metatne.service.limits import MAX_SUPPORTS
from metatne.service.plain_cells import read_cell, safe_cell
from metatne.service.served_model import ServedModel

HEADER = ["node", "mark"]
MARKS = {"holds": True, "1": True, "+": True, "lacks": False, "0": False, "-": False}
NAME = "import.csv"
"""What messages call a file that came without a name."""


def write_examples(positives: list[NodeId], negatives: list[NodeId]) -> str:
    """The examples as CSV that a spreadsheet opens without running any of it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for mark, nodes in (("holds", positives), ("lacks", negatives)):
        writer.writerows(
            (node if isinstance(node, int) else safe_cell(node), mark) for node in nodes
        )
    return stream.getvalue()


def read_examples(served: ServedModel, data: bytes) -> tuple[list[NodeId], list[NodeId]]:
    """Positives and negatives; every line that is none is named in the error."""
    bad = BadLines(NAME)
    marked: dict[int, tuple[bool, int]] = {}
    for line, fields in _lines(check_text(NAME, data).data.decode("utf-8"), bad):
        mark = MARKS.get(fields[1].strip().casefold()) if len(fields) == 2 else None
        if mark is None:
            bad.add(line, "a node and holds or lacks (node,holds)", quoted(",".join(fields)))
            continue
        node = _node(served, fields[0])
        if node is None:
            bad.add(line, f"a node of the model {served.name!r}", quoted(fields[0]))
        elif node in marked:
            bad.add(line, f"each node once, as on line {marked[node][1]}", quoted(fields[0]))
        elif len(marked) == MAX_SUPPORTS:
            bad.add(line, f"at most {MAX_SUPPORTS:,} nodes", "more")
            break
        else:
            marked[node] = (mark, line)
    bad.raise_if_any()
    ids = served.node_ids
    sides = [[node for node, (mark, _) in marked.items() if mark is side] for side in (True, False)]
    return ids.take(sides[0]), ids.take(sides[1])


def _lines(text: str, bad: BadLines) -> list[tuple[int, list[str]]]:
    """The number of each record's last line and its fields, without blank ones and a header."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[tuple[int, list[str]]] = []
    try:
        for fields in reader:
            is_header = not found and [field.strip().casefold() for field in fields] == HEADER
            if fields and not is_header:
                found.append((reader.line_num, fields))
    except csv.Error as error:
        bad.add(reader.line_num, "fields with quotes that close", str(error))
    return found


def _node(served: ServedModel, text: str) -> int | None:
    """The node that a cell names: as it was written, or with blanks around it."""
    for name in dict.fromkeys((read_cell(text), read_cell(text.strip()))):
        if name and name in served.node_ids:
            return int(served.node_ids.positions([name])[0])
    return None
