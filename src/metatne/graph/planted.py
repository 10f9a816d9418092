"""Graphs of any size with known structure: overlapping communities, and labels made of them.

A node is at home in one community and, with some luck, a member of others. Most edges join
two members of one community, the rest any two nodes; within either, nodes are drawn by a
power law, so a few become hubs. A label is held by the members of a few communities, give
or take some noise. All of it is drawn in whole arrays, in time near-linear in the edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from jaxtyping import Bool, Float, Float32, Int64

from metatne.errors import ConfigError
from metatne.graph.build import build_graph
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.store import Graph

SIZE_SKEW = 0.5  # the k-th largest community has a size near k^-0.5 of the largest one's
MIN_SIZE = 2  # one member alone could not have an edge at home
CHUNK_EDGES = 1 << 22  # bounds the working memory, and part of what a seed means
MAX_ROUNDS = 12  # of drawing again what came out twice
SHORTFALL = 0.01  # of the edges, that may be missing after all rounds


@dataclass(frozen=True)
class Planted:
    """A graph and the truth that it was made from."""

    graph: Graph
    memberships: sp.csr_array
    """1 where a node is a member of a community: (node, community), int8."""

    label_communities: sp.csr_array
    """1 where a label is made of a community: (label, community), int8."""


def planted_graph(
    num_nodes: int,
    *,
    num_labels: int,
    num_communities: int | None = None,
    mean_degree: float = 10.0,
    degree_skew: float = 0.4,
    overlap: float = 0.3,
    mixing: float = 0.2,
    communities_per_label: int = 2,
    label_noise: float = 0.1,
    weighted: bool = False,
    name: str = "planted",
    seed: int,
) -> Planted:
    """A graph with planted communities and labels; the same arguments give the same graph.

    There are as many communities as labels unless `num_communities` says otherwise. The
    node of rank k is drawn with weight k^-`degree_skew`: 0 makes all alike, 0.5 gives
    degrees a tail of exponent 3. `overlap` is the mean number of communities a node is in
    beside its home; `mixing` the share of edges drawn among all nodes. `label_noise` is the
    share of members that lack the label; about as many nodes hold it by chance instead.
    With `weighted`, edges within a community weigh more on average. Every node has an edge.
    """
    num_communities = max(num_labels, 1) if num_communities is None else num_communities
    _check(num_nodes, num_labels, num_communities, communities_per_label, mean_degree)
    _check_shares(degree_skew=degree_skew, mixing=mixing, label_noise=label_noise)
    if overlap < 0 or overlap > num_communities - 1:
        raise ConfigError(f"overlap must lie in 0 … num_communities - 1, not {overlap}")
    if mean_degree * (1 - mixing) < 2:
        raise ConfigError(
            f"mean_degree must be at least 2 / (1 - mixing) = {2 / (1 - mixing):.4g}, "
            f"so that every node can have an edge at home, not {mean_degree}"
        )
    rng = np.random.default_rng(seed)
    members = _draw_members(num_nodes, num_communities, overlap, rng)
    ranks = rng.permutation(num_nodes) + 1
    urn = _Urn(members, ranks ** -float(degree_skew), mixing)
    low, high, is_within = _draw_edges(urn, round(num_nodes * mean_degree / 2), rng)
    weights = _draw_weights(is_within, rng) if weighted else None
    label_communities = _draw_label_communities(
        num_labels, num_communities, communities_per_label, rng
    )
    memberships = members.matrix()
    labels = _draw_labels(memberships, label_communities, label_noise, rng)
    edges = RawEdges(
        sources=pa.array(low),
        targets=pa.array(high),
        weights=weights,
        nodes=pa.array(np.arange(num_nodes)),
    )
    del low, high, is_within, urn  # at 100 million edges this is memory that the builder needs
    return Planted(build_graph(edges, labels, name=name), memberships, label_communities)


@dataclass(frozen=True)
class _Members:
    """Pairs of a community and a member, sorted by community, then node."""

    nodes: Int64[np.ndarray, " member"]
    bounds: Int64[np.ndarray, " bounds"]
    """Community c has the pairs `bounds[c]` up to `bounds[c + 1]`."""

    homes: Int64[np.ndarray, " node"]
    """The pair of each node with its home."""

    def matrix(self) -> sp.csr_array:
        shape = (len(self.homes), len(self.bounds) - 1)
        ones = np.ones(len(self.nodes), dtype=np.int8)
        return sp.csc_array((ones, self.nodes, self.bounds), shape=shape).tocsr()


def _draw_members(
    num_nodes: int, num_communities: int, overlap: float, rng: np.random.Generator
) -> _Members:
    shares = np.arange(1, num_communities + 1) ** -SIZE_SKEW
    shares /= shares.sum()
    # Cumulated and rounded, so that the sizes add up to the number of nodes.
    spare = num_nodes - MIN_SIZE * num_communities
    sizes = MIN_SIZE + np.diff(np.rint(np.cumsum(shares) * spare), prepend=0).astype(np.int64)
    home = rng.permutation(np.repeat(np.arange(num_communities), sizes))
    home_keys = home * num_nodes + np.arange(num_nodes)
    num_extra = round(overlap * num_nodes)
    extra = rng.choice(num_communities, num_extra, p=shares) * num_nodes
    extra += rng.integers(num_nodes, size=num_extra)
    keys = _distinct(np.sort(np.concatenate([home_keys, extra])))
    return _Members(
        nodes=keys % num_nodes,
        bounds=np.searchsorted(keys, np.arange(num_communities + 1) * num_nodes),
        homes=np.searchsorted(keys, home_keys),
    )


class _Urn:
    """Draws edges as keys `2 * (low * num_nodes + high) + is_across`."""

    def __init__(
        self, members: _Members, propensity: Float[np.ndarray, " node"], mixing: float
    ) -> None:
        self.num_nodes = len(members.homes)
        self.members = members
        self.mixing = mixing
        self.across = propensity / propensity.sum()
        # A node's propensity is shared out among its communities: overlap adds no degree.
        num_homes = np.bincount(members.nodes, minlength=self.num_nodes)
        within = (propensity / num_homes)[members.nodes]
        self.within = within / within.sum()

    def draw(
        self, num_edges: int, rng: np.random.Generator, *, one_each: bool = False
    ) -> Int64[np.ndarray, " edge"]:
        """Keys of edges, some of them equal; `one_each` gives each node one at home."""
        num_across = int(self.mixing * num_edges)
        num_free = num_edges - num_across - (self.num_nodes if one_each else 0)
        # How often each pair comes first is drawn at once, and in order: no search is needed,
        # and the searches for the second ends stay within one community, so in the cache.
        counts = rng.multinomial(num_free, self.within)
        if one_each:
            counts[self.members.homes] += 1
        members = self.members
        keys = np.empty(num_edges, dtype=np.int64)
        within, across = np.split(keys, [num_edges - num_across])
        self._fill(within, counts, self.within, members.bounds, members.nodes, rng)
        counts = rng.multinomial(num_across, self.across)
        everyone = np.array([0, self.num_nodes])
        self._fill(across, counts, self.across, everyone, np.arange(self.num_nodes), rng)
        keys *= 2
        across += 1
        return keys

    def _fill(
        self,
        pairs: Int64[np.ndarray, " edge"],
        counts: Int64[np.ndarray, " member"],
        weights: Float[np.ndarray, " member"],
        bounds: Int64[np.ndarray, " bounds"],
        nodes: Int64[np.ndarray, " member"],
        rng: np.random.Generator,
    ) -> None:
        """Fill in `low * num_nodes + high`; member k comes first `counts[k]` times.

        The second end comes from the same group (`bounds`), by weight.
        """
        cumulated = np.concatenate([[0.0], np.cumsum(weights)])
        group = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
        firsts = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        for start in range(0, len(firsts), CHUNK_EDGES):
            first = firsts[start : start + CHUNK_EDGES]
            begin, end = bounds[group[first]], bounds[group[first] + 1]
            low, high = cumulated[begin], cumulated[end]
            drawn = low + rng.random(len(first)) * (high - low)
            second = np.searchsorted(cumulated, drawn, side="right") - 1
            second = np.clip(second, begin, end - 1)  # rounding may step over the border
            second += second == first  # no self-loops: the next member instead,
            second = np.where(second == end, begin, second)  # and the first after the last
            a, b = nodes[first], nodes[second]
            pairs[start : start + CHUNK_EDGES] = np.minimum(a, b) * self.num_nodes
            pairs[start : start + CHUNK_EDGES] += np.maximum(a, b)


def _draw_edges(
    urn: _Urn, num_edges: int, rng: np.random.Generator
) -> tuple[Int64[np.ndarray, " edge"], Int64[np.ndarray, " edge"], Bool[np.ndarray, " edge"]]:
    """Unique edges, low < high, and whether each was drawn within a community."""
    keys = _distinct(np.sort(urn.draw(num_edges, rng, one_each=True)), shift=1)
    for _ in range(MAX_ROUNDS):
        if len(keys) == num_edges:
            break
        more = np.sort(urn.draw(num_edges - len(keys), rng))
        # A stable sort of two sorted runs is one merge.
        keys = _distinct(np.sort(np.concatenate([keys, more]), kind="stable"), shift=1)
    if len(keys) < (1 - SHORTFALL) * num_edges:
        raise ConfigError(
            f"the communities have room for about {len(keys):,} of {num_edges:,} edges; "
            "ask for fewer communities, a lower mean_degree or a lower degree_skew"
        )
    is_within = keys & 1 == 0
    keys >>= 1
    low, high = np.divmod(keys, urn.num_nodes)
    return low, high, is_within


def _distinct(
    ascending: Int64[np.ndarray, " key"], *, shift: int = 0
) -> Int64[np.ndarray, " distinct"]:
    """The first of all keys that are equal past the lowest `shift` bits.

    So an edge drawn both within a community and across counts as within. (Keys are sorted
    anyway; `numpy.unique` hashes them, which takes many times as long.)
    """
    values = ascending >> shift
    is_first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return ascending[is_first]


def _draw_weights(
    is_within: Bool[np.ndarray, " edge"], rng: np.random.Generator
) -> Float32[np.ndarray, " edge"]:
    spread = np.where(is_within, np.float32(2.0), np.float32(0.5))
    return 1 + spread * rng.standard_exponential(len(is_within), dtype=np.float32)


def _draw_label_communities(
    num_labels: int, num_communities: int, per_label: int, rng: np.random.Generator
) -> sp.csr_array:
    # The first community of each label goes round, so that every community gets its turn.
    turn = rng.permutation(num_communities)
    columns = np.empty((num_labels, per_label), dtype=np.int64)
    for label in range(num_labels):
        first = turn[label % num_communities]
        others = rng.choice(num_communities - 1, per_label - 1, replace=False)
        columns[label] = np.sort([first, *(others + (others >= first))])
    bounds = np.arange(num_labels + 1) * per_label
    ones = np.ones(columns.size, dtype=np.int8)
    return sp.csr_array((ones, columns.ravel(), bounds), shape=(num_labels, num_communities))


def _draw_labels(
    memberships: sp.csr_array,
    label_communities: sp.csr_array,
    noise: float,
    rng: np.random.Generator,
) -> RawLabels:
    num_nodes, num_labels = memberships.shape[0], label_communities.shape[0]
    members = (label_communities @ memberships.T).tocsr()  # (label, node)
    members.sort_indices()
    labels = np.repeat(np.arange(num_labels), np.diff(members.indptr))
    nodes = members.indices.astype(np.int64)
    strays = rng.random(len(nodes)) < noise
    # Each member that lacks the label leaves its place to any node at all.
    nodes[strays] = rng.integers(num_nodes, size=int(strays.sum()))
    keys = _distinct(np.sort(labels * num_nodes + nodes))
    names = [f"label-{label}" for label in range(num_labels)]
    return RawLabels(
        nodes=pa.array(keys % num_nodes),
        labels=pa.array(names, pa.large_string()).take(pa.array(keys // num_nodes)),
        names=names,
        source="planted labels",
    )


def _check(
    num_nodes: int, num_labels: int, num_communities: int, per_label: int, mean_degree: float
) -> None:
    for name, value, low, high in (
        ("num_labels", num_labels, 0, None),
        ("num_communities", num_communities, 1, num_nodes // MIN_SIZE),
        ("communities_per_label", per_label, 1, num_communities),
        ("mean_degree", mean_degree, 2, num_nodes - 1),
    ):
        if value < low or (high is not None and value > high):
            bound = f"lie in {low} … {high}" if high is not None else f"be at least {low}"
            raise ConfigError(f"{name} must {bound} for {num_nodes:,} nodes, not {value}")


def _check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 <= value < 1:
            raise ConfigError(f"{name} must lie in 0 … 1 (without 1), not {value}")
