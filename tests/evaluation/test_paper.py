"""The paper's numbers as the paper prints them."""

from __future__ import annotations

import pytest

from metatne.evaluation.paper import paper_result


@pytest.mark.parametrize(
    ("dataset", "positives", "negatives", "expected"),
    [
        ("BlogCatalog", 10, 20, (0.6986, 0.5380, 0.6203)),
        ("BlogCatalog", 10, 40, (0.7139, 0.4398, 0.5819)),
        ("BlogCatalog", 5, 10, (0.6546, 0.4523, 0.4842)),
        ("BlogCatalog", 5, 20, (0.6756, 0.3730, 0.4539)),
        ("Flickr", 10, 20, (0.8462, 0.7118, 0.7700)),
        ("PPI", 10, 20, (0.6865, 0.5188, 0.5621)),
        ("PPI", 10, 40, (0.7039, 0.4298, 0.5327)),
        ("Mashup", 10, 40, (0.7684, 0.4814, 0.4816)),
    ],
)
def test_metatne_in_the_paper(
    dataset: str, positives: int, negatives: int, expected: tuple[float, float, float]
) -> None:
    found = paper_result(dataset, positives, negatives)
    assert found is not None
    assert tuple(found[metric]["mean"] for metric in ("auc", "f1", "recall")) == expected
    assert all(0 < cell["std"] < 0.1 for cell in found.values())


def test_other_methods_and_cells_that_are_not_there() -> None:
    line = paper_result("PPI", 10, 20, method="LINE")
    assert line is not None
    assert line["auc"] == {"mean": 0.6372, "std": 0.0270}
    assert paper_result("PPI", 5, 10) is None
    assert paper_result("PPI", 10, 20, method="Mine") is None
    assert paper_result("my graph", 10, 20) is None
    assert paper_result(None, 10, 20) is None
