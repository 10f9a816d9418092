"""Named generators: independent, reproducible, and nobody else's state is touched."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from metatne.seeding import derive_seed, numpy_generator, torch_seed


def test_seeds_of_different_things_differ() -> None:
    things = list(product(range(4), ["pairs", "tasks", "dropout", "1"], range(4)))
    seeds = {derive_seed(*thing) for thing in things}
    assert len(seeds) == len(things)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(1, "pairs") == derive_seed(1, "pairs", 0)


def test_seeds_are_the_same_on_every_machine() -> None:
    """A change here changes every published number."""
    assert derive_seed(0, "pairs") == 3692519449393130898
    assert derive_seed(7, "tasks", 3) == 893831778982407100
    assert numpy_generator(0, "tasks", 5).integers(10**6, size=3).tolist() == [
        869200,
        650849,
        279202,
    ]


def test_generators_do_not_depend_on_what_was_drawn_before() -> None:
    first = numpy_generator(3, "tasks", 8).random(5)
    numpy_generator(3, "tasks", 7).random(1_000)
    np.random.default_rng(0).random(10)
    assert numpy_generator(3, "tasks", 8).random(5).tolist() == first.tolist()


def test_named_generators_are_uncorrelated() -> None:
    draws = [numpy_generator(0, name).random(5_000) for name in ("a", "b", "c")]
    correlation = np.asarray(np.corrcoef(draws))
    assert np.abs(correlation[np.triu_indices(3, 1)]).max() < 0.06


def test_torch_draws_by_name_inside_the_block() -> None:
    def drawn(seed: int, name: str, counter: int = 0) -> list[float]:
        with torch_seed(seed, name, counter):
            values: list[float] = torch.rand(4).tolist()
        return values

    assert drawn(0, "dropout", 1) == drawn(0, "dropout", 1)
    assert drawn(0, "dropout", 1) != drawn(0, "dropout", 2)
    assert drawn(0, "dropout", 1) != drawn(1, "dropout", 1)
    assert drawn(0, "dropout") != drawn(0, "network")


def test_the_callers_torch_state_is_as_before() -> None:
    torch.manual_seed(5)
    expected = torch.rand(6).tolist()
    torch.manual_seed(5)
    values = torch.rand(2).tolist()
    with torch_seed(0, "dropout"):
        torch.rand(100)
    values += torch.rand(2).tolist()

    def fail() -> None:
        with torch_seed(0, "dropout"):
            torch.rand(100)
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fail()
    assert values + torch.rand(2).tolist() == expected


def test_the_callers_numpy_state_is_as_before() -> None:
    np.random.seed(5)  # noqa: NPY002 - the old global state is the point
    expected = np.random.rand(2).tolist()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    numpy_generator(0, "tasks").random(10)
    assert np.random.rand(2).tolist() == expected  # noqa: NPY002
