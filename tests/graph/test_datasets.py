"""Graphs by name: where files are looked for, what is checked, and the numbers of the real ones."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from metatne.errors import DatasetError, GraphError
from metatne.graph import datasets
from metatne.graph.datasets import (
    DATASETS,
    Dataset,
    DatasetFile,
    list_datasets,
    load_dataset,
    open_graph,
)
from metatne.graph.planted import planted_graph

REAL = Path(__file__).parents[3] / "shared" / "datasets"
PAPER = Path(__file__).parents[3] / "shared" / "paper" / "tables.json"

EDGES = b"1 2 0.5\n2 3 1.5\n3 1 2.5\n"
LABELS = b"1 7\n2 7 8\n9 8\n"  # node 9 has a label but no edge

TOY = replace(
    DATASETS["mashup"],
    name="toy",
    num_nodes=3,
    num_edges=3,
    num_labels=2,
    files=(
        DatasetFile("toy.edgelist", ("http://127.0.0.1:9/toy.edgelist",)),
        DatasetFile(
            "toy_labels.txt",
            ("http://127.0.0.1:9/toy_labels.txt",),
            hashlib.sha256(LABELS).hexdigest(),
            len(LABELS),
        ),
    ),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads the user's own cache or variables."""
    path = tmp_path / "cache"
    monkeypatch.setattr(datasets, "user_cache_path", lambda *_, **__: path)
    monkeypatch.delenv("METATNE_DATA", raising=False)
    return path


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setitem(DATASETS, "toy", TOY)
    return TOY


def write_toy(directory: Path, *, edges: bytes = EDGES, labels: bytes = LABELS) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "toy.edgelist").write_bytes(edges)
    (directory / "toy_labels.txt").write_bytes(labels)
    return directory


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    folder = write_toy(tmp_path / "web")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_all_data_sets_are_listed() -> None:
    assert [d.name for d in list_datasets()] == ["debian", "blogcatalog", "ppi", "flickr", "mashup"]
    for dataset in list_datasets():
        assert dataset.home.startswith("http")
        assert dataset.licence
        assert min(dataset.num_nodes, dataset.num_edges, dataset.num_labels) > 0


def test_papers_keys_are_those_of_its_tables() -> None:
    if not PAPER.exists():
        pytest.skip(f"the paper's tables are not at {PAPER}")
    keys = {dataset.paper_key for dataset in list_datasets()} - {None}
    assert keys == set(json.loads(PAPER.read_text())["results"]["values"])


@pytest.mark.usefixtures("toy")
def test_files_are_found_in_order(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = b"1 2 1\n"
    write_toy(cache)
    assert load_dataset("toy", download=False).num_edges == 3
    write_toy(tmp_path / "variable", edges=wrong)
    monkeypatch.setenv("METATNE_DATA", str(tmp_path / "variable"))
    with pytest.raises(DatasetError, match="found 2 nodes, 1 edges and 2 labels"):
        load_dataset("toy", download=False)
    given = write_toy(tmp_path / "given")
    graph = load_dataset("TOY", data_dir=given, download=False)
    assert graph.name == "toy"
    assert graph.weights is not None
    assert graph.labels.names == ("7", "8")
    assert graph.labels.holders(1).tolist() == [1]  # node 9 went, and its label with it


def test_what_is_nowhere_is_downloaded_once(
    toy: Dataset, web: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tuple(replace(file, urls=(f"{web}/{file.name}",)) for file in toy.files)
    monkeypatch.setitem(DATASETS, "toy", replace(toy, files=files))
    seen: list[int] = []
    graph = load_dataset("toy", progress=lambda done, total: seen.append(done))
    assert graph.num_nodes == 3
    assert seen == [len(EDGES), len(LABELS)]
    assert sorted(path.name for path in cache.iterdir()) == ["toy.edgelist", "toy_labels.txt"]
    load_dataset("toy", progress=lambda done, total: seen.append(done))
    assert len(seen) == 2


def test_a_second_address_helps(
    toy: Dataset, web: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tuple(replace(file, urls=(f"{web}/gone", f"{web}/{file.name}")) for file in toy.files)
    monkeypatch.setitem(DATASETS, "toy", replace(toy, files=files))
    assert load_dataset("toy").num_nodes == 3
    files = tuple(replace(file, urls=(f"{web}/gone", f"{web}/lost")) for file in toy.files)
    monkeypatch.setitem(DATASETS, "toy", replace(toy, files=files))
    (cache / "toy.edgelist").unlink()
    with pytest.raises(DatasetError, match=r"/gone.*\n.*/lost"):
        load_dataset("toy")


@pytest.mark.usefixtures("toy")
def test_without_download_the_message_says_where_to_put_it(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("toy", data_dir=tmp_path / "mine", download=False)
    message = str(caught.value)
    for part in ("toy.edgelist", str(tmp_path / "mine"), str(cache), "http://", "METATNE_DATA"):
        assert part in message


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("place", ["given", "cache"])
def test_a_wrong_checksum_names_the_file(tmp_path: Path, place: str) -> None:
    folder = write_toy(tmp_path / place, labels=b"1 7\n2 8\n")
    given = folder if place == "given" else None
    with pytest.raises(DatasetError, match=r"expected SHA-256 [0-9a-f]{64}, found") as caught:
        load_dataset("toy", data_dir=given, download=False)
    assert str(folder / "toy_labels.txt") in str(caught.value)


def test_wrong_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, "debian", replace(DATASETS["debian"], num_edges=7))
    with pytest.raises(DatasetError, match=r"7 edges and 259 labels, found .* 295,301 edges"):
        load_dataset("debian")


def test_an_unknown_name_brings_the_nearest() -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("blogcatalogue")
    message = str(caught.value)
    assert "did you mean 'blogcatalog'?" in message
    assert "debian, blogcatalog, ppi, flickr, mashup" in message


def test_a_reference_is_a_directory_or_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = planted_graph(60, num_labels=2, seed=1).graph
    saved.save(tmp_path / "mine")
    assert open_graph(str(tmp_path / "mine")).fingerprint == saved.fingerprint
    assert open_graph(tmp_path / "mine").fingerprint == saved.fingerprint
    monkeypatch.chdir(tmp_path)
    assert open_graph("mine").fingerprint == saved.fingerprint
    (tmp_path / "debian").mkdir()  # a folder that happens to be there hides no data set
    assert open_graph("debian").name == "debian"
    saved.save(tmp_path / "ppi")
    assert open_graph("ppi").fingerprint == saved.fingerprint


@pytest.mark.usefixtures("toy")
def test_a_reference_passes_the_directory_of_data_on(tmp_path: Path) -> None:
    assert open_graph("toy", data_dir=write_toy(tmp_path / "data")).name == "toy"


@pytest.mark.parametrize("reference", ["debain", "no/such/graph"])
def test_a_reference_to_nothing_says_both_were_tried(reference: str) -> None:
    with pytest.raises(DatasetError) as caught:
        open_graph(reference)
    message = str(caught.value)
    assert f"there is no graph directory {Path(reference).absolute()}" in message
    assert f"there is no data set {reference!r}" in message


def test_a_directory_that_is_no_graph(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="is not a saved graph"):
        open_graph(tmp_path)


def real(name: str) -> Dataset:
    dataset = DATASETS[name]
    missing = [file.name for file in dataset.files if not (REAL / file.name).exists()]
    if missing:
        pytest.skip(f"{', '.join(missing)} not in {REAL}")
    return dataset


@pytest.mark.parametrize("name", ["blogcatalog", "ppi", "flickr", "mashup"])
def test_real_data_sets(name: str) -> None:
    dataset = real(name)
    graph = load_dataset(name, data_dir=REAL, download=False)
    assert graph.num_nodes == dataset.num_nodes
    graph.verify()
    # The paper's splits permute label numbers, so their order is part of the data.
    first = 1 if name in ("blogcatalog", "flickr") else 0
    expected = [str(first + label) for label in range(dataset.num_labels)]
    assert list(graph.labels.names) == expected
    ids = np.asarray(graph.node_ids.array)
    assert (np.diff(ids) > 0).all()
    assert graph.labels.unannotated is None


def test_real_labels() -> None:
    real("blogcatalog")
    graph = load_dataset("blogcatalog", data_dir=REAL, download=False)
    assert int(graph.labels.num_holders.sum()) == 14_476
    assert graph.node_ids.take([0, 10_311]) == [1, 10_312]
    assert (np.asarray(graph.labels.holds_matrix().sum(axis=1)) >= 1).all()


def test_real_checksums() -> None:
    for dataset in list_datasets():
        for file in dataset.files:
            path = REAL / file.name
            if path.exists():
                assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
                assert file.size == path.stat().st_size


def test_the_documentation_has_these_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for dataset in list_datasets():
        numbers = (dataset.num_nodes, dataset.num_edges, dataset.num_labels)
        row = f"| `{dataset.name}` | {' | '.join(f'{number:,}' for number in numbers)} |"
        assert row in page
        assert all(f"`{file.name}`" in page for file in dataset.files)
