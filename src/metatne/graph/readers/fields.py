"""Lines into fields: which delimiter a file uses, and what its first line is."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from metatne.errors import ConfigError
from metatne.graph.node_ids import as_integer
from metatne.graph.readers.text import Text

NUM_SAMPLED = 200
WHITESPACE = " "
"""As a delimiter: any run of spaces and tabs."""

UNCLOSED = "quotes that close where their field ends"
"""What a line lacks that `split_fields` cannot split."""

BY_SUFFIX = {".csv": ",", ".tsv": "\t"}


def check_delimiter(delimiter: str | None) -> None:
    """Refuse a delimiter that is not one character."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ConfigError(f"a delimiter is one character, such as ',' or a tab, not {delimiter!r}")


def sample_lines(text: Text) -> list[tuple[int, str]]:
    """The first lines that say something."""
    return list(itertools.islice(text.lines(), NUM_SAMPLED))


def sniff_delimiter(path: str, sample: Sequence[tuple[int, str]]) -> str:
    """The delimiter that most sampled lines have; the one the file's ending names goes first.

    Tabs at a line's end are blanks, unless the line has as many tabs as the first has before its
    last word: then they are empty cells of a table.
    """
    named = next(
        (BY_SUFFIX[suffix] for suffix in PurePath(path).suffixes[-2:] if suffix in BY_SUFFIX), None
    )
    for delimiter in dict.fromkeys([named, "\t", ",", ";"]):
        if delimiter is not None:
            first = sample[0][1].rstrip(" \t") if sample else ""
            of_table = first.count(delimiter) if delimiter in first.strip(" \t") else None
            num_having = sum(
                delimiter in line.strip(" \t") or line.count(delimiter) == of_table
                for _, line in sample
            )
            if 2 * num_having > len(sample):
                return delimiter
    return WHITESPACE


def split_fields(line: str, delimiter: str) -> list[str] | None:
    """The fields of a line without the blanks around them; None where quotes do not match."""
    if delimiter == WHITESPACE:
        # str.split() without an argument would also split at other scripts' blanks inside ids.
        return [field for field in line.replace("\t", " ").split(" ") if field]
    if '"' not in line:
        return [field.strip(" \t") for field in line.split(delimiter)]
    fields = []
    place = 0
    pattern = _field_pattern(delimiter)
    while place <= len(line):
        found = pattern.match(line, place)
        if found is None:
            return None
        inside, bare = found.groups()
        fields.append((bare if inside is None else inside.replace('""', '"')).strip(" \t"))
        place = found.end()
        if not found.group().endswith(delimiter):
            break
    return fields


@cache
def _field_pattern(delimiter: str) -> re.Pattern[str]:
    """One field and the delimiter after it; unlike csv's, it may have blanks around its quotes."""
    end, blank = re.escape(delimiter), " *" if delimiter == "\t" else "[ \t]*"
    return re.compile(
        rf'{blank}"((?:[^"]|"")*)"{blank}(?:{end}|$)|((?!{blank}")[^{end}]*)(?:{end}|$)'
    )


def usual_count(rows: Sequence[Sequence[str]]) -> int:
    """The number of fields that most rows have."""
    counts = Counter(len(row) for row in rows)
    return counts.most_common(1)[0][0] if counts else 0


def integers_if_all_are(texts: pa.Array) -> pa.Array:
    """Ids as int64 if every one is a canonical decimal integer, else as they are.

    "007" or "+7" would lose their spelling, so one such id keeps all ids strings.
    """
    if not len(texts) or not is_integer(texts[0].as_py()):
        return texts
    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return texts
    return numbers if pc.all(pc.equal(numbers.cast(texts.type), texts)).as_py() else texts


def is_integer(field: str) -> bool:
    """Whether a field is a canonical decimal integer of 64 bits."""
    return as_integer(field) is not None
