"""Graphs by name: the embedded one, and those of the paper, found on disk or downloaded.

A file is looked for in `data_dir`, in the directory that METATNE_DATA names, and in the
cache; what is nowhere is downloaded into the cache. What was read is held against the
numbers known of the data set, so that a wrong file never passes for the right one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from metatne.errors import DatasetError
from metatne.graph import download as downloads
from metatne.graph.debian import debian_graph
from metatne.graph.node_ids import nearest_names
from metatne.graph.readers import read_graph
from metatne.graph.store import Graph

DATA_VARIABLE = "METATNE_DATA"


@dataclass(frozen=True)
class DatasetFile:
    """A file of a data set; without a checksum it is known by the graph that it makes."""

    name: str
    urls: tuple[str, ...]
    """Where it is to be had, best first."""

    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set before it is read."""

    name: str
    title: str
    home: str
    licence: str
    num_nodes: int
    num_edges: int
    num_labels: int
    paper_key: str | None = None
    """Its name in the tables of the paper."""

    note: str = ""
    files: tuple[DatasetFile, ...] = ()
    """The graph first, then the labels where they are apart; none for the embedded graph."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """How to read the files (`read_graph`)."""


_ASU_LICENCE = (
    "no licence is stated; published for research by Arizona State University, to be cited"
)
_BIONEV = "https://raw.githubusercontent.com/xiangyue9607/BioNEV/master/data/Mashup_PPI"

DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="debian",
            title="Debian 12.15: packages, what they depend on, and their tags",
            home="https://packages.debian.org/bookworm/",
            licence="facts of Debian's package index and of debtags; see docs/datasets.md",
            num_nodes=60_376,
            num_edges=295_301,
            num_labels=259,
            note="embedded; the labels of the 30,538 untagged packages are unknown",
        ),
        Dataset(
            name="blogcatalog",
            title="BlogCatalog: bloggers, their friends and the groups they joined",
            home="http://datasets.syr.edu/datasets/BlogCatalog3.html",
            licence=_ASU_LICENCE,
            num_nodes=10_312,
            num_edges=333_983,
            num_labels=39,
            paper_key="BlogCatalog",
            files=(
                DatasetFile(
                    "BlogCatalog-dataset.zip",
                    ("http://datasets.syr.edu/uploads/1283153973/BlogCatalog-dataset.zip",),
                    "173c519328c29f5f37f78d6efeebfd30c5f8d33e121d20b314d81b04fb1b2815",
                    976_987,
                ),
            ),
            options={"format": "asu"},
        ),
        Dataset(
            name="ppi",
            title="PPI: human proteins, their interactions and biological states",
            home="https://snap.stanford.edu/node2vec/",
            licence="no licence is stated; published with node2vec (from BioGRID), to be cited",
            num_nodes=3_860,
            num_edges=37_845,
            num_labels=50,
            paper_key="PPI",
            note=(
                "the paper counts 3,890 nodes and 76,584 entries of the matrix: here self-loops "
                "are dropped, then isolated nodes, and an edge counts once"
            ),
            files=(
                DatasetFile(
                    "Homo_sapiens.mat",
                    ("https://snap.stanford.edu/node2vec/Homo_sapiens.mat",),
                    "8a32b88b0576276f02d7aaa3fd282e8617a3e6db8d39abb6212a283363bf1183",
                    1_014_752,
                ),
            ),
            options={"format": "matlab", "drop_isolated": True},
        ),
        Dataset(
            name="flickr",
            title="Flickr: users, their contacts and the groups they joined",
            home="http://datasets.syr.edu/datasets/Flickr.html",
            licence=_ASU_LICENCE,
            num_nodes=80_513,
            num_edges=5_899_882,
            num_labels=195,
            paper_key="Flickr",
            files=(
                DatasetFile(
                    "Flickr-dataset.zip",
                    ("http://datasets.syr.edu/uploads/1283157931/Flickr-dataset.zip",),
                ),
            ),
            options={"format": "asu"},
        ),
        Dataset(
            name="mashup",
            title="Mashup: human proteins, weighted interactions and functions",
            home="https://github.com/xiangyue9607/BioNEV",
            licence="MIT licence of the BioNEV repository",
            num_nodes=16_143,
            num_edges=300_181,
            num_labels=28,
            paper_key="Mashup",
            note="proteins that the label file leaves out lack all labels, as in the paper",
            files=(
                DatasetFile("Mashup_PPI.edgelist", (f"{_BIONEV}/Mashup_PPI.edgelist",)),
                DatasetFile(
                    "Mashup_PPI_labels.txt",
                    (f"{_BIONEV}/Mashup_PPI_labels.txt",),
                    "07e8cecda08fa1f33173e1812cb90515cc4b8b6fdf9da3ded7cdc1deaca7c1b4",
                    40_726,
                ),
            ),
            # Proteins with labels but no interactions come in as isolated nodes and go again.
            options={
                "format": "edges",
                "weighted": True,
                "label_format": "lists",
                "keep_unlinked": True,
                "drop_isolated": True,
            },
        ),
    )
}


def list_datasets() -> list[Dataset]:
    """All data sets that have a name."""
    return list(DATASETS.values())


def load_dataset(
    name: str,
    *,
    data_dir: Path | str | None = None,
    download: bool = True,
    progress: downloads.Progress | None = None,
) -> Graph:
    """The graph called `name`, checked against its known numbers."""
    dataset = find_dataset(name)
    paths = [
        find_file(file, dataset, data_dir=data_dir, download=download, progress=progress)
        for file in dataset.files
    ]
    graph = read_graph(*paths, name=dataset.name, **dataset.options) if paths else debian_graph()
    _check(dataset, graph, paths)
    return graph


def open_graph(
    reference: Path | str,
    *,
    data_dir: Path | str | None = None,
    progress: downloads.Progress | None = None,
) -> Graph:
    """The graph that `reference` names: a saved graph's directory, or a data set.

    A directory goes first, so a saved graph can be called like a data set.
    """
    path = Path(reference).expanduser()
    text = str(reference)
    if (path / "graph.json").exists():
        return Graph.open(path)
    if text.lower() in DATASETS:
        return load_dataset(text, data_dir=data_dir, progress=progress)
    if path.exists():
        return Graph.open(path)  # which says what is wrong with it
    raise DatasetError(f"there is no graph directory {path.absolute()}, and {_unknown(text)}")


def find_dataset(name: str) -> Dataset:
    """The data set called `name`, in any case."""
    dataset = DATASETS.get(name.lower())
    if dataset is None:
        raise DatasetError(_unknown(name))
    return dataset


def find_file(
    file: DatasetFile,
    dataset: Dataset,
    *,
    data_dir: Path | str | None = None,
    download: bool = True,
    progress: downloads.Progress | None = None,
) -> Path:
    """Where the file is; it is downloaded into the cache if it is nowhere."""
    cache = user_cache_path("metatne", appauthor=False)
    given = [Path(place) for place in (data_dir, os.environ.get(DATA_VARIABLE)) if place]
    for directory in given:
        path = directory / file.name
        if path.is_file():
            _check_file(path, file, dataset)
            return path
    cached = cache / file.name
    if not download:
        if cached.is_file():
            _check_file(cached, file, dataset)
            return cached
        places = ", ".join(map(str, [*given, cache]))
        raise DatasetError(
            f"{file.name} of the data set {dataset.name!r} is not in {places}; download it from "
            f"{file.urls[0]} and put it there, or set {DATA_VARIABLE} to the directory that has it"
        )
    failures = []
    for url in file.urls:
        try:
            return downloads.download(
                url, cached, sha256=file.sha256, expected_size=file.size, progress=progress
            )
        except DatasetError as error:
            failures.append(error)
    raise DatasetError("\n".join(map(str, failures))) from failures[-1]


def _check_file(path: Path, file: DatasetFile, dataset: Dataset) -> None:
    if file.sha256 is None:
        return
    found = downloads.file_sha256(path)
    if found != file.sha256:
        raise DatasetError(
            f"{path} is not the file of the data set {dataset.name!r}: expected SHA-256 "
            f"{file.sha256}, found {found}; remove it, or get it from {file.urls[0]}"
        )


def _check(dataset: Dataset, graph: Graph, paths: list[Path]) -> None:
    expected = (dataset.num_nodes, dataset.num_edges, dataset.num_labels)
    found = (graph.num_nodes, graph.num_edges, graph.labels.num_labels)
    if found != expected:
        where = f"in {', '.join(map(str, paths))}; remove what is wrong there" if paths else ""
        raise DatasetError(
            f"the data set {dataset.name!r} should have {_numbers(expected)}, "
            f"found {_numbers(found)} {where}".rstrip()
        )


def _numbers(counts: tuple[int, int, int]) -> str:
    nodes, edges, labels = counts
    return f"{nodes:,} nodes, {edges:,} edges and {labels:,} labels"


def _unknown(name: str) -> str:
    near = nearest_names(name, DATASETS)
    hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
    return f"there is no data set {name!r}{hint} (the data sets are {', '.join(DATASETS)})"
