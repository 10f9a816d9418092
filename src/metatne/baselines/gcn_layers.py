"""What GCN and Meta-GNN share: features, and the graph as PyG wants it.

Both are A relu(A X W1) W2 with A the normalised adjacency with self-loops. A X does not change
in training, so it is made once: neither method ever holds a message for every edge.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from metatne.baselines.base import BaselineSettings
from metatne.baselines.node2vec import Node2vec
from metatne.graph.store import Graph


class ConvolutionSettings(BaselineSettings):
    """What both have in common."""

    hidden_dim: int = Field(128, ge=1, description="size of the hidden layer")
    feature_walks: int = Field(
        80, ge=1, description="walks from every node for the features, which are Node2vec's"
    )


def node_features(graph: Graph, settings: ConvolutionSettings) -> Float[Tensor, "node dim"]:
    """Node2vec's embedding with p = q = 1, each feature of mean 0 and variance 1."""
    node2vec = Node2vec(walks_per_node=settings.feature_walks)
    return standardised(torch.from_numpy(node2vec.embed_plainly(graph)))


def standardised(vectors: Float[Tensor, "node dim"]) -> Float[Tensor, "node dim"]:
    """Each column with mean 0 and variance 1."""
    return (vectors - vectors.mean(dim=0)) / vectors.std(dim=0).clamp(min=1e-6)


def normalised_adjacency(graph: Graph) -> Tensor:
    """D^-1/2 (A + 1) D^-1/2 as a sparse tensor in rows (CSR); as edges have no direction, it is its
    own transpose, which `UndirectedGCNConv` relies on.
    """
    rows = np.repeat(np.arange(graph.num_nodes), graph.degrees)
    edges = torch.from_numpy(np.stack((rows, np.asarray(graph.indices, dtype=np.int64))))
    weights = None if graph.weights is None else torch.tensor(graph.weights, dtype=torch.float32)
    edges, values = gcn_norm(edges, weights, graph.num_nodes, dtype=torch.float32)
    size = (graph.num_nodes, graph.num_nodes)
    with warnings.catch_warnings():  # that CSR is in beta is known; matrices are tested
        warnings.filterwarnings("ignore", category=UserWarning, message="Sparse ")
        return torch.sparse_coo_tensor(edges, values, size).coalesce().to_sparse_csr()


class UndirectedGCNConv(GCNConv):  # type: ignore[misc] # PyG has no types
    """PyG's convolution over the `normalised_adjacency` of an undirected graph."""

    def message_and_aggregate(
        self, adj_t: Tensor, x: Float[Tensor, "node dim"]
    ) -> Float[Tensor, "node dim"]:
        """Each node's weighted sum over its neighbours."""
        multiply: Callable[[Tensor, Tensor], Tensor] = _SymmetricProduct.apply
        return multiply(adj_t, x)


class _SymmetricProduct(torch.autograd.Function):
    """A X, whose gradient by X is A times that of the product, since A is its own transpose.

    PyTorch does not know that, and transposes A anew in every step, which takes ten times as long
    as the product.
    """

    @staticmethod
    def forward(ctx: Any, adjacency: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(adjacency)
        return adjacency @ x

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[None, Tensor]:
        (adjacency,) = ctx.saved_tensors
        return None, adjacency @ slopes[0]
