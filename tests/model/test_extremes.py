"""Tasks, embeddings, masks and numbers at the edge of what there can be."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest
import torch

from metatne.model import MetaTNENetwork, SelfAttention
from metatne.noise import SetMasks
from model.agreement import DOUBLE, assert_every_form_is_the_reference, expected_outcome
from model.nodes import sets_of
from networks import (
    Task,
    assert_agree,
    noise_of,
    outcome,
    random_network,
    random_task,
    randomise,
    small_config,
)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_attention_stays_finite(dtype: torch.dtype) -> None:
    config = small_config(norm_first=False)
    attention = SelfAttention(config).to(dtype)
    supports, queries = (1e4 * torch.randn(1, number, 6, dtype=dtype) for number in (3, 4))
    mixture = attention.mixture(attention.project(supports), attention.project(queries))
    assert all(part.isfinite().all() for part in mixture)
    assert attention(sets_of(supports, queries)).isfinite().all()
