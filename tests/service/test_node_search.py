"""Search by a part of a name, held against the plain way."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatne.graph.node_ids import NodeIds
from metatne.service import node_search
from metatne.service.node_search import NodeSearch, folded

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
    search = NodeSearch(NodeIds(names))
    for limit in (1, 3, 50):
        found = search.find(text, limit)
        expected, more = plain(names, text, limit)
        assert [folded(names[node]) for node in found.nodes] == [folded(n) for n in expected]
        assert len(set(found.nodes)) == len(found.nodes)
        assert found.more == more
    holding = {name for name, has in zip(names, search.contains(text), strict=True) if has}
    assert holding == {name for name in names if folded(text) in folded(name)}


def test_matches_across_chunks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_search, "CHUNK_BYTES", 3)
    names = [f"name {number}" for number in range(50)]
    search = NodeSearch(NodeIds(names))
    assert [names[node] for node in search.find("e 4", 20).nodes] == sorted(
        name for name in names if "e 4" in name
    )


def test_no_match_runs_from_one_name_into_the_next() -> None:
    search = NodeSearch(NodeIds(["ab", "cd"]))
    assert search.find("bc", 5).nodes == []
    assert search.find("b\0c", 5).nodes == []
    assert not search.contains("b\0").any()


def test_letters_are_alike_however_they_are_written() -> None:
    search = NodeSearch(NodeIds(["Straße", unicodedata.normalize("NFD", "Café"), "ΣΊΣΥΦΟΣ"]))
    assert search.find("STRASSE", 5).nodes == [0]
    assert search.find("café", 5).nodes == [1]
    assert search.find("σίσυφος", 5).nodes == [2]
    assert search.find("\ud800", 5).nodes == []


def test_integers_are_found_by_their_digits() -> None:
    search = NodeSearch(NodeIds([120, -12, 12, 7]))
    assert search.find("12", 5).nodes == [2, 0, 1]


def test_an_empty_graph_has_nothing_to_find() -> None:
    search = NodeSearch(NodeIds([]))
    assert search.find("a", 5).nodes == search.find("", 5).nodes == []
