"""Sets of pairs of a label and a node, of which a graph's labels are made."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int64, Integer

from metatne.errors import GraphError


def distinct(keys: Int64[np.ndarray, " key"]) -> Int64[np.ndarray, " distinct"]:
    """The keys, none negative, once each and ascending; np.unique hashes them, which is slow."""
    ascending = np.sort(keys)
    unique: Int64[np.ndarray, " distinct"] = ascending[np.diff(ascending, prepend=-1) != 0]
    return unique


class LabelPairs:
    """An immutable set of (label, node) pairs: the nodes of a label are one sorted slice."""

    def __init__(
        self,
        indptr: Int64[np.ndarray, " bounds"],
        nodes: Integer[np.ndarray, " pair"],
        num_nodes: int,
    ) -> None:
        """The nodes of label y are `nodes[indptr[y]:indptr[y + 1]]`, ascending."""
        if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(nodes):
            raise GraphError("the bounds of the label pairs do not match their nodes")
        self.indptr, self.nodes, self._num_nodes = indptr, nodes, num_nodes

    @classmethod
    def of(
        cls,
        labels: Integer[np.ndarray, " pair"],
        nodes: Integer[np.ndarray, " pair"],
        num_labels: int,
        num_nodes: int,
    ) -> LabelPairs:
        """The set of these pairs, in any order, repeated or not."""
        keys = distinct(labels.astype(np.int64) * num_nodes + nodes)
        pair_labels, pair_nodes = np.divmod(keys, max(num_nodes, 1))
        indptr = np.searchsorted(pair_labels, np.arange(num_labels + 1)).astype(np.int64)
        return cls(
            indptr, pair_nodes.astype(np.int32 if num_nodes < 2**31 else np.int64), num_nodes
        )

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.nodes)

    @property
    def counts(self) -> Int64[np.ndarray, " label"]:
        """How many nodes each label is paired with."""
        return np.diff(self.indptr)

    def of_label(self, label: int) -> Integer[np.ndarray, " pair"]:
        """The nodes paired with `label`, ascending."""
        return self.nodes[self.indptr[label] : self.indptr[label + 1]]

    @cached_property
    def pair_labels(self) -> Int64[np.ndarray, " pair"]:
        """The label of each pair, in the order of `nodes`."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int64), self.counts)

    @cached_property
    def _keys(self) -> Int64[np.ndarray, " pair"]:
        keys: Int64[np.ndarray, " pair"] = self.pair_labels * self._num_nodes + self.nodes
        return keys

    def contains(self, keys: Int64[np.ndarray, " key"]) -> Bool[np.ndarray, " key"]:
        """Whether each key `label * num_nodes + node` is in the set."""
        if not len(self):
            return np.zeros(keys.shape, dtype=bool)
        place = np.searchsorted(self._keys, keys)
        place[place == len(self)] = 0
        found: Bool[np.ndarray, " key"] = self._keys[place] == keys
        return found

    def select(self, labels: Int64[np.ndarray, " chosen"]) -> LabelPairs:
        """The pairs of these labels, renumbered in the order given."""
        nodes = [self.of_label(int(label)) for label in labels]
        indptr = np.zeros(len(labels) + 1, dtype=np.int64)
        np.cumsum(self.counts[labels], out=indptr[1:])
        chosen = np.concatenate([self.nodes[:0], *nodes])
        return LabelPairs(indptr, chosen, self._num_nodes)
