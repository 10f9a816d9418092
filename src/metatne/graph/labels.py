"""What is known of the labels: each pair of a node and a label is held, lacked or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float32, Int8, Int64, Integer
from numpy.typing import ArrayLike

from metatne.errors import GraphError, LabelError
from metatne.graph.label_pairs import LabelPairs
from metatne.graph.node_ids import nearest_names
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN


class Labels:
    """Immutable labels of the nodes, with three states a pair; an unstated pair is LACKS.

    `unannotated` marks nodes that nobody looked at: their pairs are UNKNOWN unless stated.
    `unknown` are single unknown pairs, and `lacks` are the pairs that are known to be
    lacked though their node is unannotated. A pair that is held is held, whatever else.
    """

    def __init__(
        self,
        names: Sequence[str],
        num_nodes: int,
        holds: LabelPairs,
        *,
        unknown: LabelPairs | None = None,
        lacks: LabelPairs | None = None,
        unannotated: Bool[np.ndarray, " node"] | None = None,
        is_known_by_holding: bool | None = None,
    ) -> None:
        """Labels over these arrays, which become read-only.

        Whether nodes are known by holding a label is told by the arrays, unless it is given.
        """
        self.names = tuple(names)
        self.num_nodes = num_nodes
        self.unannotated = unannotated
        self.holds, self.unknown, self.lacks = holds, unknown, lacks
        self._is_known_by_holding = is_known_by_holding
        self._positions = {name: label for label, name in enumerate(self.names)}
        self._check()
        for pairs in (holds, unknown, lacks):
            if pairs is not None:
                pairs.nodes.flags.writeable = pairs.indptr.flags.writeable = False
        if unannotated is not None:
            unannotated.flags.writeable = False

    @classmethod
    def from_statements(
        cls,
        names: Sequence[str],
        num_nodes: int,
        nodes: Integer[np.ndarray, " statement"],
        labels: Integer[np.ndarray, " statement"],
        states: Int8[np.ndarray, " statement"] | None = None,
        *,
        unannotated: Bool[np.ndarray, " node"] | None = None,
    ) -> Labels:
        """Labels from statements by position; HOLDS and LACKS go before UNKNOWN."""
        if states is None:
            states = np.full(len(nodes), HOLDS, dtype=np.int8)
        nobody = np.zeros(num_nodes, dtype=bool)
        unlooked = nobody if unannotated is None else unannotated
        is_stated_lack = states == LACKS

        def pairs(mask: Bool[np.ndarray, " statement"]) -> LabelPairs:
            return LabelPairs.of(labels[mask], nodes[mask], len(names), num_nodes)

        holds = pairs(states == HOLDS)
        # A lack says something new only of an unannotated node, an unknown only of others.
        lacks = pairs(is_stated_lack & unlooked[nodes])
        unknown = pairs((states == UNKNOWN) & ~unlooked[nodes])
        if len(unknown):
            stated = LabelPairs.of(
                labels[states != UNKNOWN], nodes[states != UNKNOWN], len(names), num_nodes
            )
            keys = unknown.pair_labels * num_nodes + unknown.nodes
            left = ~stated.contains(keys)
            unknown = LabelPairs.of(
                unknown.pair_labels[left], unknown.nodes[left], len(names), num_nodes
            )
        return cls(
            names,
            num_nodes,
            holds,
            unknown=unknown if len(unknown) else None,
            lacks=lacks if len(lacks) else None,
            unannotated=unlooked if unlooked.any() else None,
        )

    @classmethod
    def none(cls, num_nodes: int) -> Labels:
        """No labels at all."""
        empty = np.zeros(0, dtype=np.int64)
        return cls.from_statements([], num_nodes, empty, empty)

    def __repr__(self) -> str:
        """The size in one line."""
        return (
            f"Labels({self.num_labels} labels, {self.num_nodes:,} nodes, {len(self.holds):,} held)"
        )

    @property
    def num_labels(self) -> int:
        """How many labels there are."""
        return len(self.names)

    @property
    def num_holders(self) -> Int64[np.ndarray, " label"]:
        """How many nodes hold each label."""
        return self.holds.counts

    def holders(self, label: int) -> Integer[np.ndarray, " holder"]:
        """The nodes that hold `label`, ascending."""
        return self.holds.of_label(self._checked(label))

    def num_known(self, label: int, among: Bool[np.ndarray, " node"] | None = None) -> int:
        """How many nodes, of all or of those `among` them, are known to hold or lack `label`."""
        label = self._checked(label)
        known = self._num_annotated_of(among)
        for pairs, sign, of_unannotated in (
            (self.holds, 1, True),
            (self.lacks, 1, True),
            (self.unknown, -1, False),
        ):
            if pairs is not None:
                nodes = pairs.of_label(label)
                nodes = nodes if among is None else nodes[among[nodes]]
                if pairs is self.unknown:  # a pair that is held is held, whatever else
                    nodes = np.setdiff1d(nodes, self.holders(label))
                if self.unannotated is not None:
                    nodes = nodes[self.unannotated[nodes] == of_unannotated]
                elif of_unannotated:
                    nodes = nodes[:0]
                known += sign * len(nodes)
        return known

    def _num_annotated_of(self, among: Bool[np.ndarray, " node"] | None) -> int:
        if self.unannotated is None:
            return self.num_nodes if among is None else int(np.count_nonzero(among))
        if among is None:
            return self.num_nodes - self._num_unannotated
        return int(np.count_nonzero(among & ~self.unannotated))

    @property
    def num_unknown_pairs(self) -> int:
        """How many pairs of a node and a label are unknown."""
        return sum(self.num_nodes - self.num_known(label) for label in range(self.num_labels))

    @cached_property
    def num_annotated(self) -> int:
        """Nodes of which something is said: that they hold a label, or that it is unknown."""
        touched = np.zeros(self.num_nodes, dtype=bool)
        for pairs in (self.holds, self.unknown, self.lacks):
            if pairs is not None:
                touched[pairs.nodes] = True
        if self.unannotated is not None:
            touched |= self.unannotated
        return int(touched.sum())

    def states(self, nodes: ArrayLike, labels: ArrayLike) -> Int8[np.ndarray, "*shape"]:
        """The state of each (node, label), the two broadcast against each other."""
        both = np.broadcast_arrays(
            np.asarray(nodes, dtype=np.int64), np.asarray(labels, dtype=np.int64)
        )
        shape = both[0].shape
        flat_nodes, flat_labels = (values.reshape(-1) for values in both)
        for name, values, bound in (
            ("node", flat_nodes, self.num_nodes),
            ("label", flat_labels, self.num_labels),
        ):
            if values.size and not (values.min() >= 0 and values.max() < bound):
                raise IndexError(f"{name} positions must lie in 0 … {bound - 1}")
        keys = flat_labels * self.num_nodes + flat_nodes
        states = np.full(keys.shape, LACKS, dtype=np.int8)
        if self.unannotated is not None:
            states[self.unannotated[flat_nodes]] = UNKNOWN
        if self.unknown is not None:
            states[self.unknown.contains(keys)] = UNKNOWN
        if self.lacks is not None:
            states[self.lacks.contains(keys)] = LACKS
        states[self.holds.contains(keys)] = HOLDS
        return states.reshape(shape)

    def table(self, labels: Int64[np.ndarray, " column"]) -> Int8[np.ndarray, "node column"]:
        """The state of every node for each of these labels."""
        states = np.full((self.num_nodes, len(labels)), LACKS, dtype=np.int8)
        if self.unannotated is not None:
            states[self.unannotated] = UNKNOWN
        for pairs, state in ((self.unknown, UNKNOWN), (self.lacks, LACKS), (self.holds, HOLDS)):
            if pairs is not None:
                for column, label in enumerate(labels.tolist()):
                    states[pairs.of_label(label), column] = state
        return states

    def position(self, name: str) -> int:
        """The number of the label called `name`."""
        label = self._positions.get(str(name))
        if label is None:
            near = nearest_names(str(name), self.names)
            hint = f"did you mean {', '.join(map(repr, near))}?" if near else self._some_names()
            raise LabelError(f"there is no label {str(name)!r}; {hint}")
        return label

    def select(self, labels: Sequence[int] | Integer[np.ndarray, " chosen"]) -> Labels:
        """Only these labels, in this order, over the same nodes."""
        chosen = np.asarray(labels, dtype=np.int64)
        for label in chosen:
            self._checked(int(label))
        return Labels(
            [self.names[label] for label in chosen],
            self.num_nodes,
            self.holds.select(chosen),
            unknown=None if self.unknown is None else self.unknown.select(chosen),
            lacks=None if self.lacks is None else self.lacks.select(chosen),
            unannotated=self.unannotated,
        )

    @cached_property
    def is_known_by_holding(self) -> bool:
        """Whether the nodes that hold a label are the ones that somebody looked at."""
        if self._is_known_by_holding is not None:
            return self._is_known_by_holding
        if self.unannotated is None or self.lacks is not None:
            return False
        holds_some = np.zeros(self.num_nodes, dtype=bool)
        holds_some[self.holds.nodes] = True
        return bool((holds_some | self.unannotated).all())

    def before_others(self, labels: Sequence[int] | Integer[np.ndarray, " chosen"]) -> Labels:
        """Only these labels, as they were known before the others came up.

        Where nodes are known by holding something, those that hold none of these labels were
        not known then: to leave them annotated would tell that they hold one of the others.
        """
        chosen = self.select(labels)
        if not self.is_known_by_holding:
            return chosen
        holds_some = np.zeros(self.num_nodes, dtype=bool)
        holds_some[chosen.holds.nodes] = True
        return Labels(
            chosen.names,
            self.num_nodes,
            chosen.holds,
            unknown=chosen.unknown,
            unannotated=~holds_some,
        )

    def forget(
        self,
        labels: Sequence[int] | Integer[np.ndarray, " chosen"],
        nodes: Bool[np.ndarray, " node"],
    ) -> Labels:
        """The same, but whether these nodes hold these labels is unknown."""
        forgotten = np.zeros(self.num_labels, dtype=bool)
        forgotten[np.asarray(labels, dtype=np.int64)] = True

        def without(pairs: LabelPairs) -> LabelPairs:
            left = ~(forgotten[pairs.pair_labels] & nodes[pairs.nodes])
            return LabelPairs.of(
                pairs.pair_labels[left], pairs.nodes[left], self.num_labels, self.num_nodes
            )

        # Pairs of unannotated nodes are unknown without being listed.
        listed = np.flatnonzero(nodes if self.unannotated is None else nodes & ~self.unannotated)
        unknown_labels = np.repeat(np.flatnonzero(forgotten), len(listed))
        unknown_nodes = np.tile(listed, int(forgotten.sum()))
        if self.unknown is not None:
            unknown_labels = np.concatenate((unknown_labels, self.unknown.pair_labels))
            unknown_nodes = np.concatenate((unknown_nodes, self.unknown.nodes))
        return Labels(
            self.names,
            self.num_nodes,
            without(self.holds),
            unknown=LabelPairs.of(unknown_labels, unknown_nodes, self.num_labels, self.num_nodes),
            lacks=None if self.lacks is None else without(self.lacks),
            unannotated=self.unannotated,
            # These nodes hold less now than they were known by: the arrays cannot tell any more.
            is_known_by_holding=self.is_known_by_holding,
        )

    def holds_matrix(self) -> sp.csr_array:
        """1 where a node holds a label: (node, label), float32, sparse."""
        indptr, labels = self._by_node
        ones: Float32[np.ndarray, " pair"] = np.ones(len(labels), dtype=np.float32)
        return sp.csr_array((ones, labels, indptr), shape=(self.num_nodes, self.num_labels))

    def held_by(self, node: int) -> list[str]:
        """The names of the labels that `node` holds."""
        indptr, labels = self._by_node
        return [self.names[label] for label in labels[indptr[node] : indptr[node + 1]]]

    @cached_property
    def _by_node(self) -> tuple[Int64[np.ndarray, " bounds"], Integer[np.ndarray, " pair"]]:
        indptr = np.zeros(self.num_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.holds.nodes, minlength=self.num_nodes), out=indptr[1:])
        # A stable sort keeps the labels of each node ascending.
        order = np.argsort(self.holds.nodes, kind="stable")
        labels = self.holds.pair_labels[order].astype(np.int32)
        indptr.flags.writeable = labels.flags.writeable = False
        return indptr, labels

    @cached_property
    def _num_unannotated(self) -> int:
        return 0 if self.unannotated is None else int(self.unannotated.sum())

    def _checked(self, label: int) -> int:
        if not 0 <= label < self.num_labels:
            raise IndexError(f"label positions must lie in 0 … {self.num_labels - 1}, not {label}")
        return label

    def _some_names(self) -> str:
        if not self.names:
            return "the graph has no labels at all"
        shown = ", ".join(map(repr, self.names[:5]))
        return f"the graph has {self.num_labels}: {shown}{', …' if self.num_labels > 5 else ''}"

    def _check(self) -> None:
        if len(self._positions) != len(self.names):
            repeated = next(name for name in self.names if self.names.count(name) > 1)
            raise LabelError(f"label names must be unique, but {repeated!r} is repeated")
        if "" in self._positions:
            raise LabelError("label names must not be empty")
        for pairs in (self.holds, self.unknown, self.lacks):
            if pairs is not None and len(pairs.indptr) != len(self.names) + 1:
                raise GraphError("the label pairs do not match the number of label names")
        if self.unannotated is not None and len(self.unannotated) != self.num_nodes:
            raise GraphError("the mask of unannotated nodes does not match the number of nodes")
