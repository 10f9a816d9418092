"""The network in each of its forms equals the paper's equations, and is what they say it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from metatne.config import Config
from metatne.model import (
    Block,
    MetaTNENetwork,
    SelfAttention,
    Transformation,
    _sum_heads,
    initial_table,
    prototype_closeness,
)
from metatne.noise import Noise, SetMasks, draw_noise
from networks import (
    Outcome,
    Task,
    assert_agree,
    in_double,
    outcome,
    random_network,
    random_task,
    randomise,
    small_config,
)
from reference import reference_logits, reference_probabilities

NUM_NODES = 12
DOUBLE, SINGLE = 1e-9, 2e-5
"""How far two forms may differ by rounding, as a share of the largest entry."""

# Heads of 24, 8, 6 and 3 entries, of embeddings of 6: above 6, W_Q' W_K is folded.
PLAIN_NETWORKS = list(product((True, False), (1, 2), (1, 3, 8)))
FUSED_NETWORKS = (1, 2, 3, 4, 8)


def noise_of(config: Config, task: Task) -> Noise | None:
    num_tasks, num_queries, _ = task.queries.shape
    return draw_noise(config, num_tasks, num_queries, np.random.default_rng(0))


def nodes_of(num_tasks: int, *sizes: int) -> list[Tensor]:
    """Distinct nodes for each part of a task (positives, negatives, queries)."""
    orders = torch.stack([torch.randperm(NUM_NODES) for _ in range(num_tasks)])
    return list(torch.split(orders[:, : sum(sizes)], list(sizes), dim=1))


def network_of(config: Config) -> MetaTNENetwork:
    return random_network(config, NUM_NODES).double()


def expected_outcome(
    network: MetaTNENetwork, config: Config, task: Task, noise: Noise | None = None
) -> Outcome:
    """The slow reference, in double precision."""
    network = in_double(network)

    def classify(positives: Tensor, negatives: Tensor, queries: Tensor) -> Tensor:
        signed = reference_logits(network, config, positives, negatives, queries, noise)
        logits = signed[..., 0] - signed[..., 1]
        assert_equal(torch.sigmoid(logits), reference_probabilities(signed))
        return logits

    return outcome(network, task, classify)


def assert_every_form_is_the_reference(
    network: MetaTNENetwork, config: Config, task: Task, noise: Noise | None = None
) -> Outcome:
    """Logits and all gradients: fused in single precision, plain in double."""
    expected = expected_outcome(network, config, task, noise)
    plain = in_double(network)
    assert_agree(
        outcome(plain, task, partial(plain.classify, noise=noise)), expected, tolerance=DOUBLE
    )
    assert_agree(
        outcome(network, task, partial(network.classify, noise=noise)), expected, tolerance=SINGLE
    )
    return expected


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def is_fused(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which form was taken, one entry a call."""
    forms: list[bool] = []
    for name, fused in (("_plain_closeness", False), ("_fused_closeness", True)):
        form = getattr(Transformation, name)

        def watch(*arguments: Any, form: Any = form, fused: bool = fused) -> Any:
            forms.append(fused)
            return form(*arguments)

        monkeypatch.setattr(Transformation, name, watch)
    return forms


def assert_equal(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=DOUBLE, atol=DOUBLE)


@pytest.mark.parametrize("dropout", [0.0, 0.4], ids=["no noise", "noise"])
@pytest.mark.parametrize(("norm_first", "num_blocks", "num_heads"), PLAIN_NETWORKS)
def test_logits_and_gradients_are_those_of_the_paper(
    norm_first: bool, num_blocks: int, num_heads: int, dropout: float
) -> None:
    config = small_config(
        norm_first=norm_first, num_blocks=num_blocks, num_heads=num_heads, dropout=dropout
    )
    network, task = random_network(config).double(), random_task(config)
    noise = noise_of(config, task)
    assert (noise is None) == (dropout == 0)
    expected = expected_outcome(network, config, task, noise)
    found = outcome(network, task, partial(network.classify, noise=noise))
    assert_agree(found, expected, tolerance=DOUBLE)
    assert expected.logits.std() > 0.1  # else the comparison says little
    # The last norm's shift moves query and prototype alike; all else makes a difference.
    still = [name for name, by in expected.gradients.items() if by.abs().max() < 1e-9]
    assert still == [list(expected.gradients)[-1]]


@pytest.mark.parametrize("dropout", [0.0, 0.4], ids=["no noise", "noise"])
@pytest.mark.parametrize("num_heads", FUSED_NETWORKS)
def test_the_fused_form_has_the_logits_and_gradients_of_the_paper(
    num_heads: int, dropout: float, is_fused: list[bool]
) -> None:
    config = small_config(num_heads=num_heads, dropout=dropout)
    network, task = random_network(config), random_task(config)
    noise = noise_of(config, task)
    expected = expected_outcome(network, config, task, noise)
    found = outcome(network, task, partial(network.classify, noise=noise))
    assert is_fused == [True]
    assert_agree(found, expected, tolerance=SINGLE)
    assert expected.logits.std() > 0.1


@pytest.mark.parametrize(
    ("changed", "dtype", "expected"),
    [
        ({}, torch.float32, [True]),
        ({"num_heads": 8, "dropout": 0.3}, torch.float32, [True]),
        ({}, torch.float64, [False, False]),
        ({"norm_first": False}, torch.float32, [False, False]),
        ({"num_blocks": 2}, torch.float32, [False, False]),
    ],
    ids=["one block", "noise", "double precision", "post-norm", "two blocks"],
)
def test_what_cannot_be_fused_takes_the_plain_path(
    changed: dict[str, Any], dtype: torch.dtype, expected: list[bool], is_fused: list[bool]
) -> None:
    config = small_config(**changed)
    network, task = random_network(config).to(dtype), random_task(config)
    parts = Task(*(part.to(dtype) for part in task))
    logits = network.classify(*parts, noise_of(config, task))
    assert is_fused == expected
    assert logits.dtype == dtype


def test_gradients_are_those_of_finite_differences() -> None:
    """Not only equal to what autograd makes of the reference."""
    config = small_config(
        dim=3, attention_dim=4, feedforward_dim=3, dropout=0.3, positives=1, negatives=2
    )
    network = random_network(config).double()
    task = Task(*(part.double() for part in random_task(config, num_tasks=1)))
    noise = noise_of(config, task)
    names, parameters = zip(*network.transformation.named_parameters(), strict=True)

    def logits(positives: Tensor, negatives: Tensor, queries: Tensor, *weights: Tensor) -> Tensor:
        closeness = functional_call(
            _Closeness(network.transformation),
            {f"transformation.{name}": w for name, w in zip(names, weights, strict=True)},
            ((positives, negatives), queries, noise),
        )
        logits: Tensor = closeness[0] - closeness[1]
        return logits

    sources = [tensor.detach().clone().requires_grad_() for tensor in (*task, *parameters)]
    assert torch.autograd.gradcheck(logits, sources, fast_mode=False)


class _Closeness(torch.nn.Module):
    """`Transformation.closeness` as a `forward`, the only thing `functional_call` calls."""

    def __init__(self, transformation: Transformation) -> None:
        super().__init__()
        self.transformation = transformation

    def forward(self, *arguments: Any) -> Any:
        return self.transformation.closeness(*arguments)


@pytest.mark.parametrize("dropout", [0.0, 0.4], ids=["no noise", "noise"])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (1, 3, 2), (4, 1, 1)], ids=["all one", "one positive", "one negative"]
)
def test_the_smallest_tasks(sizes: tuple[int, int, int], dropout: float) -> None:
    positives, negatives, queries = sizes
    config = small_config(positives=positives, negatives=negatives, dropout=dropout)
    task = random_task(config, num_tasks=1, num_queries=queries)
    noise = noise_of(config, task)
    assert_every_form_is_the_reference(random_network(config), config, task, noise)


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_smallest_tasks_in_two_blocks(norm_first: bool) -> None:
    config = small_config(norm_first=norm_first, num_blocks=2, positives=1, negatives=1)
    network, task = random_network(config).double(), random_task(config, num_queries=1)
    expected = expected_outcome(network, config, task)
    assert_agree(outcome(network, task, network.classify), expected, tolerance=DOUBLE)


def test_nodes_with_equal_embeddings_are_no_special_case() -> None:
    config = small_config(num_heads=3)
    task = Task(*(torch.randn(config.dim).expand_as(part) for part in random_task(config)))
    assert_every_form_is_the_reference(random_network(config), config, task)
    everyone = Task(*(torch.ones_like(part) * task.queries[0, 0] for part in task))
    expected = assert_every_form_is_the_reference(random_network(config), config, everyone)
    assert expected.logits.abs().max() < 1e-9  # equal to all prototypes


def test_a_query_that_is_a_support_is_no_special_case() -> None:
    config = small_config(num_heads=3)
    task = random_task(config)
    task = task._replace(queries=torch.stack((task.positives[:, 1], task.negatives[:, 2]), dim=1))
    expected = assert_every_form_is_the_reference(random_network(config), config, task)
    assert expected.logits.abs().min() > 0.01


@pytest.mark.parametrize("number", [0.0, 2.0])
def test_embeddings_without_variance_are_normalised_to_zero(number: float) -> None:
    """The layer norm's epsilon is all that divides by; among others, and alone."""
    config = small_config(num_heads=3)
    network, task = random_network(config), random_task(config)
    for part in task:
        part[:, 0] = number
    assert_every_form_is_the_reference(network, config, task)
    flat = Task(*(torch.full_like(part, number) for part in task))
    assert_every_form_is_the_reference(network, config, flat)


@pytest.mark.parametrize("is_start", [True, False])
def test_embeddings_as_small_as_the_epsilon_of_the_norms(is_start: bool) -> None:
    """As they are before the first step: variances near 1e-6, whether Tr adds something or not."""
    config = small_config(num_heads=3, identity_start=True)
    network = MetaTNENetwork(1, config)
    if not is_start:
        randomise(network)
        with torch.no_grad():
            for name, parameter in network.transformation.named_parameters():
                if name.endswith(("to_output", "narrow", "narrow_bias")):
                    parameter.mul_(1e-3)
    task = Task(*(1e-3 * part for part in random_task(config)))
    expected = assert_every_form_is_the_reference(network, config, task)
    assert expected.logits.abs().max() > 0.1


def test_zero_embeddings_in_a_network_at_its_start_have_no_gradient() -> None:
    """Then ReLU's argument is exactly 0, where its slope is taken as 0."""
    config = small_config(identity_start=False)
    network = MetaTNENetwork(1, config)
    nothing = Task(*(torch.zeros_like(part) for part in random_task(config)))
    found = assert_every_form_is_the_reference(network, config, nothing)
    assert found.logits.abs().max() == 0
    assert all(gradient.abs().max() == 0 for gradient in found.gradients.values())


@pytest.mark.parametrize("field", [field.name for field in fields(SetMasks)])
@pytest.mark.parametrize("sign", ["positive", "negative"])
def test_a_mask_may_drop_everything(field: str, sign: str) -> None:
    """Of one node (or one task, where a mask is by heads), and of all."""
    config = small_config(dropout=0.4, num_heads=2)
    network, task = random_network(config), random_task(config)
    noise = noise_of(config, task)
    assert noise is not None
    before = network.classify(*task, noise)
    for part in ((0, 0), ()):
        dropped = getattr(getattr(noise, sign)[0], field).clone()
        dropped[part] = 0.0
        both = field.endswith("queries")  # these are the same for both signs
        changed = {
            each: [replace(getattr(noise, each)[0], **{field: dropped})]
            for each in ("positive", "negative")
            if both or each == sign
        }
        without = replace(noise, **changed)
        assert_every_form_is_the_reference(network, config, task, without)
        assert not torch.allclose(network.classify(*task, without), before)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("is_plain", [True, False])
def test_nan_in_an_embedding_is_nan_in_all_that_it_touches(part: int, is_plain: bool) -> None:
    config = small_config()
    network, task = random_network(config), random_task(config)
    if is_plain:
        network = network.double()
    task[part][0, 1, 2] = math.nan
    logits = outcome(network, task, network.classify).logits
    is_nan = torch.zeros(logits.shape, dtype=torch.bool)
    is_nan[0, 1 if part == 2 else slice(None)] = True
    assert torch.equal(logits.isnan(), is_nan)


@pytest.mark.parametrize("is_plain", [True, False])
def test_nan_in_a_parameter_is_nan_in_every_logit(is_plain: bool) -> None:
    config = small_config()
    network, task = random_network(config), random_task(config)
    if is_plain:
        network, task = network.double(), Task(*(part.double() for part in task))
    for name, parameter in network.transformation.named_parameters():
        if name == "last_norm.bias":  # cancels, so the fused form does not read it
            continue
        kept = parameter.detach().clone()
        with torch.no_grad():
            parameter.view(-1)[-1] = math.nan
            assert network.classify(*task).isnan().all(), name
            parameter.copy_(kept)
    assert network.classify(*task).isfinite().all()


@pytest.mark.parametrize("is_plain", [True, False])
def test_nan_comes_out_as_a_gradient_too(is_plain: bool) -> None:
    config = small_config()
    network, task = random_network(config), random_task(config)
    if is_plain:
        network = network.double()
    task.positives[0, 1, 2] = math.nan
    gradients = outcome(network, task, network.classify).gradients
    is_finite = {name for name, gradient in gradients.items() if gradient.isfinite().all()}
    # The other sign has a sum of its own; what cancels is not read by the fused form.
    assert is_finite == ({"negatives"} if is_plain else {"negatives", "last_norm.bias"})
    assert all(gradients[part][1].isfinite().all() for part in Task._fields)  # another task


@pytest.mark.parametrize(("norm_first", "num_heads"), [*product((True, False), (1, 2, 8))])
def test_the_factorised_block_is_the_block_on_the_sets(norm_first: bool, num_heads: int) -> None:
    block = Block(small_config(norm_first=norm_first, num_heads=num_heads)).double()
    randomise(block)
    supports = torch.randn(2, 3, 6, dtype=torch.float64)
    queries = torch.randn(2, 4, 6, dtype=torch.float64)
    mixture = block.mixture(supports, block.project(queries))
    tailored = supports.unsqueeze(1) + _sum_heads(mixture)
    adapted = (queries + mixture.adapted).unsqueeze(2)
    assert_equal(
        block.feed(torch.cat((tailored, adapted), dim=2)), block(sets_of(supports, queries))
    )


def sets_of(supports: Tensor, queries: Tensor) -> Tensor:
    """Every set {query} u supports, the query last: (task, query, shot + 1, dim)."""
    tiled = supports.unsqueeze(1).expand(-1, queries.shape[1], -1, -1)
    return torch.cat((tiled, queries.unsqueeze(2)), dim=2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_attention_stays_finite(dtype: torch.dtype) -> None:
    config = small_config(norm_first=False)
    attention = SelfAttention(config).to(dtype)
    supports, queries = (1e4 * torch.randn(1, number, 6, dtype=dtype) for number in (3, 4))
    mixture = attention.mixture(attention.project(supports), attention.project(queries))
    assert all(part.isfinite().all() for part in mixture)
    assert attention(sets_of(supports, queries)).isfinite().all()


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_order_of_supports_does_not_matter(norm_first: bool) -> None:
    network = network_of(small_config(norm_first=norm_first, num_blocks=2))
    positives, negatives, queries = nodes_of(2, 3, 4, 3)
    shuffled = network(positives[:, [2, 0, 1]], negatives[:, [3, 1, 0, 2]], queries)
    assert_equal(shuffled, network(positives, negatives, queries))


def test_permuted_queries_and_tasks_have_permuted_logits() -> None:
    network = network_of(small_config(num_blocks=2))
    positives, negatives, queries = nodes_of(3, 3, 2, 3)
    logits = network(positives, negatives, queries)
    assert_equal(network(positives, negatives, queries[:, [2, 0, 1]]), logits[:, [2, 0, 1]])
    tasks = [1, 2, 0]
    assert_equal(network(positives[tasks], negatives[tasks], queries[tasks]), logits[tasks])


def test_a_query_knows_nothing_of_the_others() -> None:
    network = network_of(small_config(num_blocks=2))
    positives, negatives, queries = nodes_of(1, 3, 2, 4)
    together = network(positives, negatives, queries)
    alone = torch.cat([network(positives, negatives, q[:, None]) for q in queries.T], dim=1)
    assert_equal(together, alone)


def test_swapped_signs_swap_the_decision() -> None:
    network = network_of(small_config())
    positives, negatives, queries = nodes_of(1, 3, 2, 4)
    assert_equal(network(negatives, positives, queries), -network(positives, negatives, queries))


def test_nodes_are_classified_by_their_embeddings() -> None:
    network = network_of(small_config())
    nodes = nodes_of(2, 3, 2, 4)
    embeddings = Task(*(network.embeddings[part] for part in nodes))
    assert torch.equal(network(*nodes), network.classify(*embeddings))


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_without_masks_nothing_is_dropped(num_blocks: int) -> None:
    """Neither by a network that was told to drop, nor by one in training mode."""
    dropping = network_of(small_config(dropout=0.5, num_blocks=num_blocks))
    keeping = MetaTNENetwork(NUM_NODES, small_config(num_blocks=num_blocks)).double()
    keeping.load_state_dict(dropping.state_dict())
    nodes = nodes_of(2, 3, 2, 4)
    assert torch.equal(dropping.train()(*nodes), keeping.eval()(*nodes))


def masks_of(config: Config, *, num_draws: int, num_queries: int) -> SetMasks:
    noise = draw_noise(config, num_draws, num_queries, np.random.default_rng(0))
    assert noise is not None
    return noise.positive[0]


@pytest.mark.parametrize("is_factorised", [True, False])
def test_dropped_attention_is_right_on_average(is_factorised: bool) -> None:
    """What attention adds is linear in its masks, so the mean over draws is the undropped."""
    config = small_config(dropout=0.25, positives=3)
    block = Block(config).double()
    randomise(block)
    supports = torch.randn(1, 3, 6, dtype=torch.float64)
    queries = torch.randn(1, 2, 6, dtype=torch.float64)
    exact = block.attention(block.attention_norm(sets_of(supports, queries)))[0]
    num_draws = 20_000
    masks = masks_of(config, num_draws=num_draws, num_queries=2)
    many = [part.expand(num_draws, -1, -1) for part in (supports, queries)]
    if is_factorised:
        projected = block.project(many[1])
        values = projected.value * masks.attended_queries.unsqueeze(2)
        mixture = block.mixture(many[0], projected._replace(value=values), masks)
        dropped = torch.cat((_sum_heads(mixture), mixture.adapted.unsqueeze(2)), dim=2)
    else:
        dropped = block.attention(block.attention_norm(sets_of(*many)), masks)
    assert (dropped.std(dim=0) > 0.05).all()  # every output is dropped now and then
    error = dropped.std(dim=0) / math.sqrt(num_draws)
    assert ((dropped.mean(dim=0) - exact).abs() < 5 * error).all()


def test_what_the_feed_forward_net_adds_is_right_on_average() -> None:
    config = small_config(dropout=0.25, positives=3)
    block = Block(config).double()
    randomise(block)
    tokens = torch.randn(1, 2, 4, 6, dtype=torch.float64)
    exact = block.feed(tokens)[0]
    num_draws = 20_000
    masks = masks_of(config, num_draws=num_draws, num_queries=2)
    dropped = block.feed(tokens.expand(num_draws, -1, -1, -1), masks)
    error = dropped.std(dim=0) / math.sqrt(num_draws)
    assert (error > 0).all()
    assert ((dropped.mean(dim=0) - exact).abs() < 5 * error).all()


def test_a_later_block_drops_whole_entries_of_what_it_adds() -> None:
    """Ordinary dropout: an output is kept and scaled, or what it was added to."""
    config = small_config(dropout=0.25, positives=3)
    block = Block(config).double()
    randomise(block)
    with torch.no_grad():
        block.feedforward.narrow.zero_()
        block.feedforward.narrow_bias.zero_()  # what is added is the attention's alone
    tokens = torch.randn(50, 2, 4, 6, dtype=torch.float64)
    masks = masks_of(config, num_draws=50, num_queries=2)
    kept = {name: torch.ones_like(getattr(masks, name)) for name in ("among", "merge", "adapt")}
    added = block(tokens, replace(masks, **kept)) - tokens
    factors = added / (block(tokens) - tokens)
    values = factors.flatten()
    is_dropped = values.abs() < 1e-6
    assert is_dropped.double().mean().item() == pytest.approx(0.25, abs=0.03)
    torch.testing.assert_close(values[~is_dropped], torch.full_like(values[~is_dropped], 4 / 3))
    # Drawn once a node: what a support is told is dropped alike in the sets of all queries.
    assert torch.equal(
        is_dropped.view(factors.shape)[:, 0, :-1], is_dropped.view(factors.shape)[:, 1, :-1]
    )


def test_prototype_closeness_by_hand() -> None:
    supports = torch.tensor([[[[0.0, 0.0, 0.0, 4.0], [2.0, 0.0, 0.0, 0.0]]]])  # mean 1, 0, 0, 2
    queries = torch.tensor([[[1.0, 3.0, 0.0, 1.0]]])  # gap 0, 3, 0, -1
    assert prototype_closeness(supports, queries).tolist() == [[-10.0 / 2.0]]


def test_the_parameters_are_those_of_the_paper() -> None:
    network = MetaTNENetwork(NUM_NODES, small_config(num_blocks=2))
    block = {
        "attention.to_query": (24, 6),
        "attention.to_key": (24, 6),
        "attention.to_value": (24, 6),
        "attention.to_output": (6, 24),
        "feedforward.widen": (5, 6),
        "feedforward.widen_bias": (5,),
        "feedforward.narrow": (6, 5),
        "feedforward.narrow_bias": (6,),
        "attention_norm.weight": (6,),
        "attention_norm.bias": (6,),
        "feedforward_norm.weight": (6,),
        "feedforward_norm.bias": (6,),
    }
    expected: dict[str, tuple[int, ...]] = {"embeddings": (NUM_NODES, 6)}
    for place in ("first_block", "later_blocks.0"):
        expected |= {f"transformation.{place}.{name}": shape for name, shape in block.items()}
    last = {f"transformation.last_norm.{name}": (6,) for name in ("weight", "bias")}
    found = {name: tuple(p.shape) for name, p in network.named_parameters()}
    assert found == expected | last
    post_norm = MetaTNENetwork(NUM_NODES, small_config(num_blocks=2, norm_first=False))
    assert {name: tuple(p.shape) for name, p in post_norm.named_parameters()} == expected


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_identity_start_leaves_the_embeddings(norm_first: bool) -> None:
    """Tr adds nothing yet, so logits are those of the (normalised) embeddings themselves."""
    config = small_config(norm_first=norm_first, num_blocks=2, identity_start=True)
    network = MetaTNENetwork(NUM_NODES, config)
    torch.nn.init.normal_(network.embeddings)
    positives, negatives, queries = nodes_of(2, 3, 2, 4)
    U = torch.nn.functional.layer_norm(network.embeddings, (6,), eps=1e-6)
    distances = [
        (U[queries] - U[supports].mean(dim=1, keepdim=True)).square().sum(dim=-1) / math.sqrt(6)
        for supports in (positives, negatives)
    ]
    expected = distances[1] - distances[0]
    torch.testing.assert_close(
        network(positives, negatives, queries), expected, rtol=1e-4, atol=1e-4
    )
    drawn = MetaTNENetwork(NUM_NODES, small_config(identity_start=False))
    assert all((p != 0).any() for p in drawn.transformation.parameters() if p.ndim == 2)


def test_tables_start_small_and_uniform() -> None:
    table = initial_table(5_000, 4)
    bound = 0.5 / 4
    assert table.requires_grad
    assert table.abs().max().item() <= bound
    assert table.max().item() == pytest.approx(bound, rel=0.01)
    assert table.mean().item() == pytest.approx(0, abs=0.01 * bound)
    assert table.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
