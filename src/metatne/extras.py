"""Libraries that not everybody installs, and the extras that bring them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metatne.errors import MissingExtraError


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Around imports: if a library is not there, say who needs it and how to get it.

    Of nested ones the outermost speaks: it knows what the user asked for.
    """
    try:
        yield
    except (ModuleNotFoundError, MissingExtraError) as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "metatne"):  # a module of ours that is missing is a bug
            raise
        raise MissingExtraError(
            f"{what} needs the package {package!r}, which is not installed; "
            f"install the extra with: pip install 'metatne[{extra}]'",
            name=package,
        ) from error
