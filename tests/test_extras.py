"""What is said of a library that is not installed."""

from __future__ import annotations

import sys

import pytest

from metatne.errors import MissingExtraError
from metatne.extras import needs_extra


def test_who_needs_what_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    with (
        pytest.raises(MissingExtraError, match=r"walks needs the package 'gensim'.*\[more\]"),
        needs_extra("more", "walks"),
    ):
        import gensim.models  # noqa: F401


def test_the_outermost_knows_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    with (
        pytest.raises(MissingExtraError, match=r"a study needs the package 'gensim'.*\[outer\]"),
        needs_extra("outer", "a study"),
        needs_extra("inner", "walks"),
    ):
        import gensim  # noqa: F401


def test_a_module_of_ours_that_is_missing_is_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "metatne.spectral", None)
    with pytest.raises(ModuleNotFoundError, match="spectral"), needs_extra("more", "walks"):
        import metatne.spectral  # noqa: F401


def test_other_errors_of_an_import_are_left_as_they_are() -> None:
    with pytest.raises(ImportError, match="too old"), needs_extra("more", "walks"):
        raise ImportError("too old", name="gensim")
