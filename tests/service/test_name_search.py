"""Search by a part of a name, held against the plain way."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.graph.node_ids import NodeIds
from metatne.service import name_search
from metatne.service.name_search import NameSearch, folded

LETTERS = st.text(alphabet="aAbBßÄäéeıİ ẞ.\u0301", min_size=1, max_size=6)


def plain(names: list[str], text: str, limit: int) -> tuple[list[str], bool]:
    """The same by looking at every name."""
    wanted = folded(text)
    order = sorted(names, key=lambda name: (folded(name).encode(), names.index(name)))
    first = [name for name in order if folded(name).startswith(wanted)]
    found = first + [name for name in order if wanted in folded(name) and name not in first]
    return found[:limit], len(found) > limit


@given(names=st.lists(LETTERS, min_size=1, max_size=40, unique=True), text=LETTERS | st.just(""))
def test_it_finds_what_the_plain_way_finds(names: list[str], text: str) -> None:
    search = NameSearch(NodeIds(names).array)
    for limit in (1, 3, 50):
        found = search.find(text, limit)
        expected, more = plain(names, text, limit)
        assert [folded(names[node]) for node in found.places] == [folded(n) for n in expected]
        assert len(set(found.places)) == len(found.places)
        assert found.more == more
    holding = {name for name, has in zip(names, search.contains(text), strict=True) if has}
    assert holding == {name for name in names if folded(text) in folded(name)}


def test_matches_across_chunks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_search, "CHUNK_BYTES", 3)
    names = [f"name {number}" for number in range(50)]
    search = NameSearch(NodeIds(names).array)
    assert [names[node] for node in search.find("e 4", 20).places] == sorted(
        name for name in names if "e 4" in name
    )


def test_no_match_runs_from_one_name_into_the_next() -> None:
    search = NameSearch(NodeIds(["ab", "cd"]).array)
    assert search.find("bc", 5).places == []
    assert search.find("b\0c", 5).places == []
    assert not search.contains("b\0").any()


def test_letters_are_alike_however_they_are_written() -> None:
    search = NameSearch(NodeIds(["Straße", unicodedata.normalize("NFD", "Café"), "ΣΊΣΥΦΟΣ"]).array)
    assert search.find("STRASSE", 5).places == [0]
    assert search.find("café", 5).places == [1]
    assert search.find("σίσυφος", 5).places == [2]
    assert search.find("\ud800", 5).places == []


def test_integers_are_found_by_their_digits() -> None:
    search = NameSearch(NodeIds([120, -12, 12, 7]).array)
    assert search.find("12", 5).places == [2, 0, 1]


def test_an_empty_graph_has_nothing_to_find() -> None:
    search = NameSearch(NodeIds([]).array)
    assert search.find("a", 5).places == search.find("", 5).places == []
