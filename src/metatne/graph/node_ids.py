"""The ids of the nodes: from position to id and back, without loading them all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64, Integer, UInt8, UInt64
from rapidfuzz import fuzz, process

from metatne.errors import MAX_SHOWN, GraphError, UnknownNodeError
from metatne.graph.loops import loop

NodeId: TypeAlias = str | int

NUM_SUGGESTIONS = 3
FEW_IDS = 256  # up to here a binary search each beats hashing all ids of a large graph
NUM_COMPARED = 50_000  # ids that one unknown name is compared with at most, twice
MAX_COMPARED_LENGTH = 300
INT64 = np.iinfo(np.int64)


def nearest_names(name: str, candidates: Iterable[str]) -> list[str]:
    """The few candidates that look most like `name`, best first; none if none is close.

    Comparing takes the product of both lengths, so a long candidate is left out.
    """
    short = (candidate for candidate in candidates if len(candidate) <= MAX_COMPARED_LENGTH)
    found = process.extract(
        name,
        list(dict.fromkeys(short)),
        scorer=fuzz.ratio,
        processor=str.casefold,
        score_cutoff=60,
        limit=NUM_SUGGESTIONS,
    )
    return [str(match) for match, _, _ in found]


def as_integer(value: object) -> int | None:
    """`value` as an int64 if it is an integer or its canonical decimal text ("7", not "07")."""
    if isinstance(value, str):
        # int() also reads "1_000", " 7" and other scripts' digits; only the canonical text counts.
        if not value.isascii() or len(value) > 20 or not value.lstrip("-").isdigit():
            return None
        number = int(value) if value.count("-") <= 1 else None
        if number is None or str(number) != value:
            return None
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
    else:
        return None
    return number if INT64.min <= number <= INT64.max else None


class NodeIds:
    """Immutable ids of the nodes, all int64 or all strings, held in one Arrow array.

    `order` sorts the ids; with it a handful of ids is found by binary search, so that a
    graph of millions of nodes opens without hashing its ids.
    """

    def __init__(self, array: Any, order: Int64[np.ndarray, " node"] | None = None) -> None:
        """Ids from an Arrow array or a sequence; given their order, they are taken as checked."""
        self._array = id_array(array)
        if order is None:
            order = _checked_order(self._array)
            order.flags.writeable = False
        self._order = order

    @property
    def array(self) -> Any:
        """The ids as an Arrow array of int64 or large_string."""
        return self._array

    @property
    def order(self) -> Int64[np.ndarray, " node"]:
        """The positions in ascending order of their ids."""
        return self._order

    @property
    def is_integer(self) -> bool:
        """Whether the ids are integers, not strings."""
        return bool(pa.types.is_int64(self._array.type))

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._array)

    def __getitem__(self, position: int) -> NodeId:
        """The id at this position."""
        found: NodeId = self._array[int(position)].as_py()
        return found

    def take(self, indices: Integer[np.ndarray, " some"] | Sequence[int]) -> list[NodeId]:
        """The ids at these positions."""
        positions = pa.array(np.asarray(indices, dtype=np.int64))
        taken: list[NodeId] = self._array.take(positions).to_pylist()
        return taken

    def __contains__(self, node_id: object) -> bool:
        """Whether some node has this id; "12" and 12 are one id."""
        key = self._key(node_id)
        return key is not None and self._find(key) >= 0

    def positions(
        self, ids: Iterable[NodeId], *, where: str = "the graph"
    ) -> Int64[np.ndarray, " some"]:
        """The position of each id; unknown ids raise, with the nearest ids that exist."""
        ids = list(ids)  # a Series would be asked by its index, a generator only once
        found = self.find(ids)
        if (found < 0).any():
            unknown = dict.fromkeys(str(ids[i]) for i in np.flatnonzero(found < 0).tolist())
            raise UnknownNodeError(
                {
                    name: self.nearest(name) if rank < MAX_SHOWN else []
                    for rank, name in enumerate(unknown)
                },
                where=where,
            )
        return found

    def find(self, ids: Iterable[NodeId]) -> Int64[np.ndarray, " some"]:
        """The position of each id, -1 for those that no node has."""
        keys = [self._key(node_id) for node_id in ids]
        if len(keys) > FEW_IDS:
            return self._find_many(keys)
        return np.fromiter(
            (-1 if key is None else self._find(key) for key in keys), np.int64, len(keys)
        )

    def nearest(self, name: str) -> list[str]:
        """Up to three ids close to `name`: by value for integers, by spelling for strings.

        Spelling is compared with the ids that sort next to `name` and with those that end
        like it, so a slip at either end is found and the work stays bounded.
        """
        if self.is_integer:
            number = as_integer(name)
            return [] if number is None else self._nearest_integers(number)
        low = max(0, self._rank(name) - NUM_COMPARED // 2)
        candidates = self.take(self._order[low : low + NUM_COMPARED])
        if len(self) > NUM_COMPARED and len(name) > 1 and _is_encodable(name):
            ending = name[len(name) // 2 :]
            alike = pc.ends_with(self._array, pattern=ending, ignore_case=True)
            candidates += self.take(np.flatnonzero(alike)[:NUM_COMPARED])
        return nearest_names(name, (str(candidate) for candidate in candidates))

    def _nearest_integers(self, number: int) -> list[str]:
        rank = self._rank(number)
        low = max(0, rank - NUM_SUGGESTIONS)
        near = self.take(self._order[low : rank + NUM_SUGGESTIONS])
        near.sort(key=lambda candidate: abs(int(candidate) - number))
        return [str(candidate) for candidate in near[:NUM_SUGGESTIONS]]

    def _key(self, node_id: object) -> NodeId | None:
        """`node_id` in the type of these ids, or None if no id can be equal to it."""
        if self.is_integer:
            return as_integer(node_id)
        if isinstance(node_id, str):
            return node_id
        number = as_integer(node_id)
        return None if number is None else str(number)

    def _rank(self, key: NodeId) -> int:
        # UTF-8 bytes sort as code points do, so Arrow's order is Python's.
        return bisect_left(range(len(self)), key, key=lambda rank: self[int(self._order[rank])])

    def _find(self, key: NodeId) -> int:
        rank = self._rank(key)
        if rank < len(self) and self[int(self._order[rank])] == key:
            return int(self._order[rank])
        return -1

    def _find_many(self, keys: Sequence[NodeId | None]) -> Int64[np.ndarray, " some"]:
        if not self.is_integer:
            # A lone surrogate is no UTF-8 text, so no id can be equal to it.
            keys = [key if key is not None and _is_encodable(str(key)) else None for key in keys]
        wanted = pa.array(keys, type=self._array.type)
        found = pc.fill_null(pc.index_in(wanted, value_set=self._array), -1)
        return np.asarray(found, dtype=np.int64)


def id_array(values: Any) -> Any:
    """`values` as one Arrow array of int64 or of large_string.

    Integers of any width become int64, all else strings; text is not read as numbers.
    """
    if isinstance(values, NodeIds):
        return values.array
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = _array_of_python_values(values)
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_integer(values.type):
        target = pa.int64()
    elif pa.types.is_null(values.type) or is_text(values.type):
        target = pa.large_string()
    else:
        raise GraphError(f"node ids must be integers or text, not {values.type}")
    try:
        return values.cast(target)
    except pa.ArrowInvalid as error:
        raise GraphError(f"node ids must fit into 64-bit integers: {error}") from error


def _array_of_python_values(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return pa.array(values)
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            raise GraphError(
                f"node ids must be integers or text, not {type(value).__name__}: {value!r}"
            )
    kind = pa.int64()
    if any(isinstance(value, str) for value in listed):
        listed, kind = [str(value) for value in listed], pa.large_string()
    try:
        return pa.array(listed, type=kind)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError) as error:
        raise GraphError(f"node ids must be 64-bit integers or valid text: {error}") from error


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_encodable(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _checked_order(array: Any) -> Int64[np.ndarray, " node"]:
    """The positions in ascending order of the ids, none of which is empty or comes twice."""
    if array.null_count:
        row = int(np.flatnonzero(pc.is_null(array))[0])
        raise GraphError(f"node ids must not be empty, but that of node {row} is")
    keys = array.to_numpy() if pa.types.is_int64(array.type) else _first_words(array)
    order: Int64[np.ndarray, " node"] = np.arange(len(keys))
    if (keys[1:] > keys[:-1]).all():
        return order
    order = np.argsort(keys)
    ascending = keys[order]
    is_next_alike = ascending[1:] == ascending[:-1]
    alike = np.flatnonzero(np.append(is_next_alike, False) | np.insert(is_next_alike, 0, False))
    if len(alike):
        names = array.take(pa.array(order[alike]))
        finer = pc.sort_indices(names)
        _refuse_repeated(names.take(finer))
        order[alike] = order[alike][np.asarray(finer)]
    return order


def _first_words(names: Any) -> UInt64[np.ndarray, " node"]:
    """The first 8 bytes in which names can differ, as numbers that sort like them.

    Sorting numbers is several times faster than sorting text; what is left to do are the
    names that share these bytes too.
    """
    length = pc.binary_length(names)
    if pc.any(pc.equal(length, 0)).as_py():
        row = pc.index(length, 0).as_py()
        raise GraphError(f"node ids must not be empty, but that of node {row} is")
    words = np.empty(len(names), dtype=np.uint64)
    if len(names):
        ends = pc.min_max(names).as_py()
        pairs = zip(ends["min"].encode(), ends["max"].encode(), strict=False)
        num_shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        _, bounds, text = names.buffers()
        starts = np.frombuffer(bounds, np.int64)[names.offset : names.offset + len(names) + 1]
        _read_words(np.frombuffer(text, np.uint8), starts, num_shared, words)
    return words


@loop
def _read_words(
    text: UInt8[np.ndarray, " byte"],
    starts: Int64[np.ndarray, " start"],
    skip: int,
    words: UInt64[np.ndarray, " node"],
) -> None:
    """The 8 bytes of each name after the first `skip`; where it ends before, zeros."""
    for node in range(len(words)):
        word = np.uint64(0)
        for place in range(starts[node] + skip, starts[node] + skip + 8):
            byte = text[place] if place < starts[node + 1] else 0
            word = (word << np.uint64(8)) | np.uint64(byte)
        words[node] = word


def _refuse_repeated(ascending: Any) -> None:
    repeated = np.flatnonzero(pc.equal(ascending[1:], ascending[:-1]))
    if len(repeated):
        shown = ", ".join(
            repr(name) for name in dict.fromkeys(ascending.take(repeated[:MAX_SHOWN]).to_pylist())
        )
        raise GraphError(f"node ids must be unique, but these are repeated: {shown}")
