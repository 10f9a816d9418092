"""Two ways from an edge list to a stored graph, each to be run in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import scipy.sparse as sp

from metatne.graph.readers import read_graph

Way = Callable[[Path, Path], tuple[int, int]]
"""Reads an edge list and stores its graph in a directory; how many nodes and edges it has."""


def ours(small: str, large: str, out: str) -> dict[str, Any]:
    """What `metatne graph import` does."""
    return _run(_import, small, large, out)


def with_pandas(small: str, large: str, out: str) -> dict[str, Any]:
    """The same with pandas and SciPy."""
    return _run(_import_with_pandas, small, large, out)


def _run(way: Way, small: str, large: str, out: str) -> dict[str, Any]:
    """Seconds of a large file, when a small one had all that is needed loaded and compiled."""
    start = time.perf_counter()
    way(Path(small), Path(out) / "small")
    started = time.perf_counter()
    memory_at_start = psutil.Process().memory_info().rss
    num_nodes, num_edges = way(Path(large), Path(out) / "large")
    return {
        "seconds": time.perf_counter() - started,
        "start_seconds": started - start,
        "start_memory": memory_at_start,
        "num_nodes": num_nodes,
        "num_edges": num_edges,
        "stored": sum(file.stat().st_size for file in (Path(out) / "large").iterdir()),
    }


def _import(edges: Path, out: Path) -> tuple[int, int]:
    graph = read_graph(edges)
    graph.save(out)
    return graph.num_nodes, graph.num_edges


def _import_with_pandas(edges: Path, out: Path) -> tuple[int, int]:
    """The rows without checks, digests or order of the ids, and not forced onto the disk."""
    frame = pd.read_csv(edges, sep="\t", header=None, names=["source", "target"])
    codes, ids = pd.factorize(pd.concat([frame["source"], frame["target"]], ignore_index=True))
    del frame
    sources, targets = np.split(codes, 2)
    proper = sources != targets
    sources, targets = sources[proper], targets[proper]
    rows, columns = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    ones = np.ones(len(rows), dtype=np.int8)
    matrix = sp.coo_array((ones, (rows, columns)), shape=(len(ids), len(ids))).tocsr()
    matrix.sum_duplicates()
    out.mkdir(parents=True)
    np.save(out / "indptr.npy", matrix.indptr.astype(np.int64))
    np.save(out / "indices.npy", matrix.indices.astype(np.int32, copy=False))
    pd.DataFrame({"id": ids}).to_feather(out / "ids.arrow", compression="uncompressed")
    return len(ids), matrix.nnz // 2
