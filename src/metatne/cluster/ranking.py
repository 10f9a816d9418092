"""Ranking by shards of the candidates: Ray Data scores and sorts them, parts of the order come out.

Every worker loads the saved model from a directory that all machines see. Shards are cut where
one process cuts its pieces, so the scores, and with them the ranking, are the same bit for bit.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import ray
import ray.data
from jaxtyping import Int64
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from metatne.cluster.session import cpus_by_machine, plain_errors
from metatne.errors import ModelFormatError, RunError, SupportError
from metatne.estimator import MetaTNE
from metatne.evidence.model import NODES_PER_PIECE, EvidenceModel
from metatne.graph.store import Graph
from metatne.prediction.ranking import ranked_columns, score_candidates
from metatne.prediction.support import (
    NodeId,
    Support,
    check_prior,
    resolve_candidates,
    resolve_support,
    with_weak_negatives,
)
from metatne.saved import HEADER, TrainedModel, load_model
from metatne.scoring import nodes_per_piece
from metatne.storage import new_directory

NODES_PER_SHARD = 65_536
"""Candidates of a shard at most, or a piece if that is more."""

PART = "part-{:06d}.parquet"


@dataclass(frozen=True)
class Question:
    """What a worker is told: the model, and a novel label's examples by position."""

    model: Path
    digest: str
    """Of the model's header, which has those of its other files."""

    support: Support
    top: int | None
    prior: float | None = None


@dataclass(frozen=True)
class PreparedQuestion:
    """A question without mistakes, the nodes to rank, and the weak negatives if there are any."""

    question: Question
    candidates: Int64[np.ndarray, " candidate"]
    weak_negatives: list[NodeId]
    nodes_per_piece: int
    """Where one process cuts the candidates: a shard has whole pieces."""


@dataclass(frozen=True)
class Part:
    """Nodes that follow each other in the ranking, on some machine, with their scores."""

    table: Any
    first_rank: int
    length: int


@dataclass(frozen=True)
class RankedParts:
    """The ranking, in parts."""

    parts: list[Part]

    def __len__(self) -> int:
        """Ranked nodes, at most `top`."""
        return sum(part.length for part in self.parts)

    def table(self) -> pd.DataFrame:
        """All parts as the table that `MetaTNE.rank` returns."""
        found = [_finish(ray.get(part.table), part.first_rank, part.length) for part in self.parts]
        table: pd.DataFrame = pa.concat_tables(found).to_pandas()
        return table

    def write(self, path: Path) -> None:
        """A directory of Parquet files whose names are in the order of the ranking.

        Each is written by the machine that has the part, so all must see the directory.
        """
        with new_directory(path.resolve(), overwrite=True) as folder, plain_errors():
            files = [folder / PART.format(number) for number in range(len(self.parts))]
            writing = ray.remote(_write)
            ray.get(
                [
                    writing.remote(part.table, part.first_rank, part.length, file)
                    for part, file in zip(self.parts, files, strict=True)
                ]
            )


def is_ranking(path: Path) -> bool:
    """Whether this is a directory that `RankedParts.write` wrote, so that it may replace it."""
    return path.is_dir() and all(file.match("part-*.parquet") for file in path.iterdir())


def prepare_question(
    model: Path,
    *,
    positives: Sequence[NodeId],
    negatives: Sequence[NodeId] = (),
    candidates: Sequence[NodeId] | None = None,
    top: int | None = None,
    prior: float | None = None,
    graph: Graph | None = None,
) -> PreparedQuestion:
    """What `MetaTNE.load(model, graph=graph).rank(…)` would rank, checked; needs no Ray yet."""
    trained = MetaTNE.load(model, graph=graph).trained_
    check_prior(prior)
    support = with_weak_negatives(
        resolve_support(trained.node_ids, positives, negatives),
        num_nodes=len(trained.node_ids),
        size=trained.config.negatives,
        seed=trained.config.seed,
    )
    question = Question(
        model=model.resolve(),
        digest=_digest(model),
        support=support,
        top=top,
        prior=prior,
    )
    nodes = resolve_candidates(trained.node_ids, candidates, support)
    if not len(nodes):
        raise SupportError("every node of the graph is an example, so there is none to rank")
    piece = (
        NODES_PER_PIECE
        if isinstance(trained.scorer, EvidenceModel)
        else nodes_per_piece(len(support.positives) + len(support.negative_sets[0]))
    )
    return PreparedQuestion(question, nodes, trained.node_ids.take(support.drawn), piece)


def rank_on_ray(
    prepared: PreparedQuestion,
    *,
    num_workers: int | None = None,
    nodes_per_shard: int = NODES_PER_SHARD,
) -> RankedParts:
    """`MetaTNE.rank` by workers of the Ray session, of which each takes a CPU."""
    workers = num_workers or sum(cpus_by_machine())
    question = prepared.question
    with plain_errors():
        _check_machines(question)
        shards = _shards(prepared, nodes_per_shard, workers)
        return RankedParts(_ranked(question, shards, workers))


def _check_machines(question: Question) -> None:
    """Refuse to begin unless every machine sees the model."""
    looking = ray.remote(_see)
    ray.get(
        [
            looking.options(
                num_cpus=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            ).remote(question.model, question.digest)
            for node in ray.nodes()
            if node["Alive"]
        ]
    )


def _see(model: Path, digest: str) -> None:
    _load(model, digest)


def _shards(prepared: PreparedQuestion, nodes_per_shard: int, num_workers: int) -> list[Any]:
    """The candidates in tables of whole pieces, one for each worker if there are enough."""
    nodes, piece = prepared.candidates, prepared.nodes_per_piece
    wanted = min(nodes_per_shard, -(-len(nodes) // num_workers))
    size = piece * max(1, wanted // piece)
    starts = range(0, len(nodes), size)
    return [pa.table({"place": nodes[start : start + size]}) for start in starts]


def _ranked(question: Question, shards: list[Any], num_workers: int) -> list[Part]:
    """The shards scored, and all their nodes in order."""
    settings = ray.data.DataContext.get_current().copy()
    settings.enable_progress_bars = False
    settings.execution_options.preserve_order = True  # else blocks come as they are done
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are raised
    with ray.data.DataContext.current(settings):
        ordered = (
            ray.data.from_arrow(shards)
            .map_batches(
                score_shard,
                fn_args=(question,),
                batch_size=None,  # a shard
                batch_format="pyarrow",
                concurrency=min(num_workers, len(shards)),
            )
            .sort(["logit", "node"], descending=[True, False])
        )
        bundles = list(ordered.iter_internal_ref_bundles())
    blocks = [block for bundle in bundles for block in bundle.blocks]
    ends = np.cumsum([block.metadata.num_rows for block in blocks])
    if question.top is not None:
        ends = np.minimum(ends, question.top)
    starts = np.concatenate(([0], ends[:-1]))
    return [
        Part(block.ref, int(start) + 1, int(end - start))
        for block, start, end in zip(blocks, starts, ends, strict=True)
        if start < end
    ]


def score_shard(shard: Any, question: Question) -> Any:
    """Ids and log-odds of a shard's nodes; of a short list's nodes only those that may be on it."""
    trained = _load(question.model, question.digest)
    nodes = shard["place"].to_numpy()
    found = score_candidates(trained.scorer, question.support, nodes, prior=question.prior)
    columns = {"node": trained.node_ids.array.take(pa.array(nodes)), "logit": found.logits}
    if found.errors is not None:
        columns["error"] = found.errors
    if found.thresholds is not None:
        columns["threshold"] = found.thresholds
    scored = pa.table(columns)
    if question.top is None:
        return scored
    return scored.sort_by([("logit", "descending"), ("node", "ascending")]).slice(0, question.top)


@lru_cache(maxsize=1)
def _load(model: Path, digest: str) -> TrainedModel:
    """The model, mapped once in each process of the cluster."""
    trained = load_model(model)
    if _digest(model) != digest:
        raise ModelFormatError(
            f"{model} is another model on another machine; name a directory that all machines share"
        )
    return trained


def _digest(model: Path) -> str:
    return hashlib.sha256((model / HEADER).read_bytes()).hexdigest()


def _write(table: Any, first_rank: int, length: int, file: Path) -> None:
    if not file.parent.is_dir():
        raise RunError(
            f"a machine of the cluster does not see {file.parent.parent}; "
            "name a directory that all machines share"
        )
    pq.write_table(_finish(table, first_rank, length), file)


def _finish(table: Any, first_rank: int, length: int) -> Any:
    """The columns of `MetaTNE.rank`: what the user sees of a part."""
    part = table.slice(0, length)
    has_more = "error" in part.column_names
    columns = ranked_columns(
        part["logit"].to_numpy(),
        part["error"].to_numpy() if has_more else None,
        part["threshold"].to_numpy() if has_more else None,
    )
    ranks = np.arange(first_rank, first_rank + length)
    return pa.table({"node": part["node"]} | columns | {"rank": ranks})
