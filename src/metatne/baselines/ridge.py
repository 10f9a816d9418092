"""Kernel ridge on structure and known labels: a control that needs seconds, and the row to beat.

A node is described in *blocks*: embeddings of the graph, the known labels of the node and of its
surroundings, its degree. Each block gives a linear kernel; their weights and the ridge are learned
by gradient on a ranking loss over tasks from validation labels. A novel label's supports are then
fitted in closed form.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Float32, Int64
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.baselines.netmf import netmf_vectors
from metatne.controls import holds_no_known_label, walk_matrix
from metatne.evidence.place import of_length_one
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks
from metatne.seeding import numpy_generator
from metatne.spectral import spectral_embeddings

NETMF_DIM = 128
EIGENVECTORS = (32, 128)
NUM_HOPS = 3
TASKS_AT_A_TIME = 100

Block = Float32[np.ndarray, "node feature"] | sp.csr_array


class RidgeSettings(BaselineSettings):
    """Settings of kernel ridge."""

    num_steps: int = Field(150, ge=0, description="steps that learn the blocks' weights")
    tasks_per_step: int = Field(32, ge=1, description="validation tasks of such a step")
    rate: float = Field(0.05, gt=0, description="learning rate of these steps")


class KernelRidge(Baseline):
    """Ridge regression of +1 and -1, both classes of equal weight, in a learned sum of kernels."""

    kind_of_settings = RidgeSettings
    settings: RidgeSettings

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Describe the nodes, then learn how much each block counts."""
        self.blocks_ = describe_nodes(graph, split.known, seed=self.settings.seed)
        self._blocks = list(self.blocks_.values())
        self._log_weights = torch.zeros(len(self._blocks), requires_grad=True)
        self._log_ridge = torch.zeros((), requires_grad=True)
        tasks = self.draw_validation_tasks(graph, split)
        kernels, truth = self._kernels(tasks), torch.from_numpy(tasks.is_positive)
        optimiser = torch.optim.Adam([self._log_weights, self._log_ridge], lr=self.settings.rate)
        generator = numpy_generator(self.settings.seed, "ridge steps")
        for _ in range(self.settings.num_steps):
            chosen = generator.integers(len(tasks), size=self.settings.tasks_per_step)
            scores = self._solve(kernels[torch.from_numpy(chosen)], tasks.positives.shape[1])
            loss = _ranking_loss(scores, truth[chosen])
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        self.num_steps_ = self.settings.num_steps

    @property
    def weights_(self) -> dict[str, float]:
        """How much each block counts."""
        weights = self._log_weights.detach().exp().tolist()
        return dict(zip(self.blocks_, weights, strict=True))

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """The ridge regression's answer: 0 is half way between the two classes."""
        scores = []
        for start in range(0, len(tasks), TASKS_AT_A_TIME):
            part = tasks[start : start + TASKS_AT_A_TIME]
            with torch.no_grad():
                scores.append(self._solve(self._kernels(part), part.positives.shape[1]).numpy())
        return np.concatenate(scores)

    def _kernels(self, tasks: Tasks) -> Float[Tensor, "task node support block"]:
        """Inner products of all nodes of a task with its supports, the supports first."""
        supports = np.concatenate((tasks.positives, tasks.negatives), axis=1)
        nodes = np.concatenate((supports, tasks.queries), axis=1)
        return torch.stack([_products(block, nodes, supports) for block in self._blocks], dim=-1)

    def _solve(
        self, kernels: Float[Tensor, "task node support block"], num_positives: int
    ) -> Float[Tensor, "task query"]:
        """Scores of the queries; the bias is a constant in the kernel."""
        kernel = kernels @ self._log_weights.exp() + 1.0  # (task, node, support)
        size = kernel.shape[2]
        num_negatives = size - num_positives
        is_positive = torch.arange(size) < num_positives
        truth = torch.where(is_positive, 1.0, -1.0)
        # A support counts in inverse proportion to its class, which divides its ridge.
        shares = torch.where(is_positive, size / (2 * num_positives), size / (2 * num_negatives))
        ridge = torch.diag(self._log_ridge.exp() / shares)
        dual = torch.linalg.solve(kernel[:, :size] + ridge, truth.expand(len(kernel), size))
        return torch.einsum("tns,ts->tn", kernel[:, size:], dual)


def describe_nodes(
    graph: Graph, known: Int64[np.ndarray, " label"], *, seed: int
) -> dict[str, Block]:
    """Every block of the nodes' description, each scaled to a mean square of 1 a node."""
    walk = walk_matrix(graph)
    netmf = of_length_one(netmf_vectors(graph, NETMF_DIM))
    none = np.empty(0, dtype=np.int64)
    blocks: dict[str, Block] = {
        "NetMF": netmf,
        "NetMF of the neighbours": of_length_one(walk @ netmf),
    }
    for count in EIGENVECTORS:
        vectors = spectral_embeddings(graph, none, count, seed=seed)
        blocks[f"{count} eigenvectors"] = of_length_one(vectors)
    blocks["common neighbours"] = _common_neighbours(graph)
    blocks |= _label_blocks(graph, known, walk)
    degree = np.log1p(graph.degrees.astype(np.float32))[:, None]
    blocks["degree"] = (degree - degree.mean()) / max(float(degree.std()), 1e-6)
    return {name: _scaled(block) for name, block in blocks.items()}


def _label_blocks(
    graph: Graph, known: Int64[np.ndarray, " label"], walk: sp.csr_array
) -> dict[str, Block]:
    """Known labels of a node, of its surroundings, and whether it holds any."""
    held = graph.labels.select(known).holds_matrix().toarray()
    # A rare label that two nodes share says more.
    held = held / np.sqrt(np.maximum(held.sum(axis=0), 1.0)).astype(np.float32)
    held *= np.sqrt(graph.num_nodes).astype(np.float32)
    blocks: dict[str, Block] = {
        "own labels": held,
        "own labels, of length 1": of_length_one(held),
        "holds no known label": holds_no_known_label(graph, known).astype(np.float32)[:, None],
    }
    around = held
    for hop in range(1, NUM_HOPS + 1):
        around = walk @ around
        blocks[f"labels {hop} steps away"] = _centred(around)
        blocks[f"labels {hop} steps away, of length 1"] = of_length_one(_centred(around))
    root = np.sqrt(np.maximum(graph.degrees, 1).astype(np.float32))[:, None]
    blocks["labels of the neighbours by root of degree"] = _centred((walk @ held) * root)
    return blocks


def _common_neighbours(graph: Graph) -> sp.csr_array:
    """Rows whose inner product is the cosine of two neighbourhoods, rare neighbours first."""
    rarity = 1.0 / np.sqrt(np.maximum(np.log1p(graph.degrees.astype(np.float64)), 1e-6))
    rows = sp.csr_array(graph.adjacency() @ sp.diags_array(rarity)).astype(np.float32)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.diags_array(inverse) @ rows).astype(np.float32)


def _products(
    block: Block,
    nodes: Int64[np.ndarray, "task token"],
    supports: Int64[np.ndarray, "task support"],
) -> Float[Tensor, "task token support"]:
    if isinstance(block, np.ndarray):
        rows = torch.from_numpy(block)
        return rows[torch.from_numpy(nodes)] @ rows[torch.from_numpy(supports)].transpose(1, 2)
    products = [
        (block[of_task] @ block[of_support].T).toarray()
        for of_task, of_support in zip(nodes, supports, strict=True)
    ]
    return torch.from_numpy(np.stack(products))


def _ranking_loss(scores: Float[Tensor, "task query"], truth: Bool[Tensor, "task query"]) -> Tensor:
    """The mean over tasks and pairs of a positive and a negative query, softly counted."""
    gaps = scores.unsqueeze(2) - scores.unsqueeze(1)
    is_pair = truth.unsqueeze(2) & ~truth.unsqueeze(1)
    return functional.softplus(-4.0 * gaps[is_pair]).mean()


def _centred(rows: Float[np.ndarray, "node feature"]) -> Float32[np.ndarray, ...]:
    return np.asarray(rows - rows.mean(axis=0), dtype=np.float32)


def _scaled(block: Block) -> Block:
    """The block with rows of mean square 1, so that weights of different blocks compare."""
    values = block if isinstance(block, np.ndarray) else block.data
    size = math.sqrt(float(np.square(values).sum()) / max(block.shape[0], 1)) or 1.0
    if isinstance(block, np.ndarray):
        return (block / size).astype(np.float32)
    return sp.csr_array((block / size).astype(np.float32))
