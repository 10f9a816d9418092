"""Every error that MetaTNE raises on purpose, as one tree.

MetaTNEError
├── InputError                the user can mend it; the command line exits with 2
│   ├── FileFormatError       a file is not what its format asks for
│   ├── GraphError            the graph cannot be used (empty, mismatched arrays)
│   │   └── GraphMismatchError    a model meets a graph it was not trained on
│   ├── UnknownNodeError      an id that the graph does not have
│   ├── SupportError          positives and negatives that make no task
│   ├── LabelError            a label that cannot be used (unknown name, too few holders)
│   ├── ConfigError           a setting that is not one, or out of range
│   ├── DatasetError          a data set that is not there, or not what it should be
│   ├── ModelFormatError      a saved model that cannot be read
│   ├── ProjectError          a label project that is not there, or cannot be read
│   ├── ConflictError         a label project that somebody else has changed meanwhile
│   ├── OutputExistsError     an output that would overwrite something
│   ├── OutputInUseError      an output that another process is writing
│   ├── MissingExtraError     a library that an extra would have brought
│   └── NotFittedError        a model that was asked before it was fitted
└── RunError                  the run failed, not the input; exits with 1
    ├── OutOfMemoryError      the run would not fit into memory, so it was not started
    ├── ServiceError          a service that cannot be reached, or cannot answer now
    │   └── StorageError      a file that cannot be written to now
    ├── TrainingError         training cannot go on (a loss that is not finite)
    └── WriteError            an output could not be written (disk full, read-only)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_SHOWN = 10
MAX_NAME_SHOWN = 300


class MetaTNEError(Exception):
    """Base of all errors that MetaTNE raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross from a worker process with attributes and message, whatever `__init__` takes."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    kind: type[MetaTNEError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> MetaTNEError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InputError(MetaTNEError):
    """Something that the user gave cannot be used, and the message says what would be."""


@dataclass(frozen=True)
class BadLine:
    """One place in a file that could not be read."""

    line: int
    """Counted from 1; 0 where it is the file as a whole."""

    expected: str
    found: str


class FileFormatError(InputError):
    """A file is not what its format asks for; every bad place is named, up to a limit."""

    def __init__(
        self,
        path: object,
        bad_lines: Sequence[BadLine],
        *,
        num_bad: int | None = None,
        advice: str = "",
    ) -> None:
        self.path = str(path)
        self.bad_lines = list(bad_lines)
        self.num_bad = len(self.bad_lines) if num_bad is None else num_bad
        shown = [
            f"{self.path}{f':{bad.line}' if bad.line else ''}: "
            f"expected {bad.expected}, found {bad.found}"
            for bad in self.bad_lines[:MAX_SHOWN]
        ]
        if self.num_bad > len(shown):
            shown.append(f"… and {self.num_bad - len(shown)} more bad lines in {self.path}")
        if advice:
            shown.append(advice)
        super().__init__("\n".join(shown))


class GraphError(InputError):
    """The graph cannot be used."""


class GraphMismatchError(GraphError):
    """A model meets a graph that it was not trained on."""


class UnknownNodeError(InputError):
    """Ids that the graph does not have, each with the nearest ids that it has."""

    def __init__(self, suggestions: dict[str, list[str]], *, where: str = "the graph") -> None:
        self.suggestions = suggestions
        lines = []
        for name, near in list(suggestions.items())[:MAX_SHOWN]:
            hint = f"; did you mean {', '.join(repr(n) for n in near)}?" if near else ""
            told = name if len(name) <= MAX_NAME_SHOWN else f"{name[:MAX_NAME_SHOWN]}…"
            lines.append(f"{where} has no node {told!r}{hint}")
        if len(suggestions) > MAX_SHOWN:
            lines.append(f"… and {len(suggestions) - MAX_SHOWN} more unknown nodes")
        super().__init__("\n".join(lines))


class SupportError(InputError):
    """Positives and negatives that make no task."""


class LabelError(InputError):
    """A label that cannot be used."""


class ConfigError(InputError):
    """A setting that is not one, or that is out of its range."""


class DatasetError(InputError):
    """A data set that is not there, or is not what it should be."""


class ModelFormatError(InputError):
    """A saved model that cannot be read."""


class ProjectError(InputError):
    """A label project that is not there, or a file of them that cannot be read."""


class ConflictError(InputError):
    """A label project that somebody else has changed since it was read."""

    def __init__(self, message: str, *, yours: Any = None, theirs: Any = None) -> None:
        self.yours, self.theirs = yours, theirs
        super().__init__(message)


class OutputExistsError(InputError):
    """An output that would overwrite something."""


class OutputInUseError(InputError):
    """An output that another process is writing."""


class MissingExtraError(InputError, ImportError):
    """A library that is not installed, and the extra that brings it."""


class NotFittedError(InputError, ValueError, AttributeError):
    """A model that was asked before it was fitted (scikit-learn's bases, so its tools know it)."""


class RunError(MetaTNEError):
    """The run failed, not the input."""


class OutOfMemoryError(RunError):
    """The run would not fit into memory, so it was not started."""


class ServiceError(RunError):
    """A service that cannot be reached, or cannot answer now."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class StorageError(ServiceError):
    """A file that cannot be written to now; `reason` says why without naming it."""

    def __init__(self, message: str, *, reason: str = "", retry_after: float | None = None) -> None:
        self.reason = reason
        super().__init__(message, retry_after=retry_after)


class TrainingError(RunError):
    """Training cannot go on."""


class WriteError(RunError, OSError):
    """An output could not be written (an OSError as well, as Python's own would be)."""
