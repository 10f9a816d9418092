"""Every node as one vector for an expert, kept once made: asked again, it is an inner product."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Int64

from metatne.evidence.description import Description, nobody
from metatne.evidence.head import Encoding

KEPT_BYTES = 512 * 2**20
"""Memory that the vectors of one expert may take; those of a larger graph are made each time."""


class NodeVectors:
    """Traits and blocks of nodes, side by side: what an adapted head weighs, column by column."""

    def __init__(self, encoding: Encoding, description: Description) -> None:
        self.encoding, self.description = encoding, description
        width = len(encoding.traits) + sum(len(mean) for mean in encoding.means)
        num_nodes = description.num_nodes
        self._kept: Float32[np.ndarray, "node column"] | None = None
        if num_nodes * width * 4 <= KEPT_BYTES:
            # Pages that nobody writes to take no memory, so this costs what is asked about.
            self._kept = np.empty((num_nodes, width), dtype=np.float32)
        self._is_made = np.zeros(num_nodes, dtype=bool)

    def __call__(self, nodes: Int64[np.ndarray, " some"]) -> Float32[np.ndarray, "some column"]:
        """The vectors of some nodes. Threads may ask at once: what two make twice is the same."""
        if self._kept is None:
            return self._make(nodes)
        missing = nodes[~self._is_made[nodes]]
        if len(missing):
            self._kept[missing] = self._make(missing)
            self._is_made[missing] = True
        return np.asarray(self._kept[nodes])

    def _make(self, nodes: Int64[np.ndarray, " some"]) -> Float32[np.ndarray, "some column"]:
        encoded = self.encoding(self.description, nodes[None], nobody(1))
        return np.concatenate(
            [encoded.traits[0].numpy(), *(rows[0].numpy() for rows in encoded.rows)], axis=1
        )
