"""Which lines that begin with # or % are comments, and which begin with an id like #python.

Above the first other line all are comments. Below it, a line with as many fields as the
others is read like them. Ids in quotes begin with a quote, so they are never in doubt.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metatne.graph.readers.fields import WHITESPACE, split_fields
from metatne.graph.readers.text import COMMENT_MARKS, Text, quoted

MARKED = re.compile(rb"^[ \t]*[#%][^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Comments:
    """Tells comments from data, for one file."""

    text: Text
    delimiter: str
    num_fields: Container[int]
    """How many fields a line of data may have."""

    first_line: int
    """The number of the first line that is no comment for sure."""

    @classmethod
    def of(
        cls,
        text: Text,
        sample: Sequence[tuple[int, str]],
        delimiter: str,
        num_fields: Container[int],
    ) -> Comments:
        """The rule for a file from a sample of its lines without a mark."""
        return cls(text, delimiter, num_fields, sample[0][0] if sample else sys.maxsize)

    def __call__(self, number: int, line: str) -> bool:
        """Whether this line, which begins with a mark, is a comment."""
        return number < self.first_line or not self._is_row(line)

    def _is_row(self, line: str) -> bool:
        fields = split_fields(line, self.delimiter)
        if fields is None or len(fields) not in self.num_fields:
            return False
        # Between blanks "# note" would be two fields.
        return self.delimiter != WHITESPACE or fields[0] not in COMMENT_MARKS

    def start(self, after_line: int = 0) -> int:
        """Where the data begins below a header at `after_line`, or at the first sure line."""
        return self._start_of(after_line + 1 if after_line else self.first_line)

    def body(self, after_line: int = 0) -> bytes:
        """The data below a header at `after_line` (or all of it), comments made blank lines."""
        data = self.text.data[self.start(after_line) :]
        if b"#" not in data and b"%" not in data:
            return data
        return MARKED.sub(lambda found: found.group() if self._is_row(_line(found)) else b"", data)

    def notes(self) -> Iterator[str]:
        """What was decided, where it could have been otherwise."""
        data = self.text.data
        if b"#" not in data and b"%" not in data:
            return
        name = Path(self.text.path).name
        start = self._start_of(self.first_line)
        num_comments = num_rows = 0
        is_doubted = False
        for found in MARKED.finditer(data):
            line = _line(found)
            if found.start() >= start:
                is_row = self._is_row(line)
                num_rows += is_row
                num_comments += not is_row
            elif not is_doubted and self._is_row(line) and line.strip()[1:2].strip("#% \t"):
                is_doubted = True
                number = data.count(b"\n", 0, found.start()) + 1
                yield (
                    f"{name}:{number} ({quoted(line)}) was read as a comment; if it is none, move "
                    "it below another line, or put ids that begin with # or % in quotes"
                )
        if num_rows:
            yield (
                f"{name}: {_lines(num_rows)} with # or % and as many fields as the others "
                f"{'was' if num_rows == 1 else 'were'} read like them, not as comments"
            )
        if num_comments:
            yield (
                f"{name}: {_lines(num_comments)} with # or % below the first other line "
                f"{'was' if num_comments == 1 else 'were'} read as comments"
            )

    def _start_of(self, line: int) -> int:
        """Where a line begins in the data; the end of the data if there is none."""
        place = 0
        for _ in range(line - 1):
            place = self.text.data.find(b"\n", place) + 1
            if not place:
                return len(self.text.data)
        return place


def _line(found: re.Match[bytes]) -> str:
    return found.group().decode("utf-8").rstrip("\r")


def _lines(number: int) -> str:
    return "1 line that begins" if number == 1 else f"{number:,} lines that begin"
