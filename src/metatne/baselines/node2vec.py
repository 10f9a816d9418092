"""Node2vec: skip-gram on biased random walks, p and q chosen on validation tasks."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec
from pydantic import Field

from metatne.baselines.embedding import (
    EmbeddingBaseline,
    EmbeddingSettings,
    Vectors,
    cached_vectors,
)
from metatne.baselines.tuning import learn_best, validation_auc
from metatne.baselines.walks import NO_NODE, biased_walks
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit

PAPER_CHOICES = (0.25, 0.5, 1.0, 2.0, 4.0)
LINES_AT_A_TIME = 65_536


class Node2vecSettings(EmbeddingSettings):
    """Settings of Node2vec."""

    window: int = Field(10, ge=1, description="how far apart on a walk two nodes are a pair")
    walk_length: int = Field(40, ge=2, description="nodes of a walk")
    walks_per_node: int = Field(80, ge=1, description="walks from every node")
    tuning_walks: int = Field(
        8, ge=1, description="walks from every node while p and q are being chosen"
    )
    p_choices: tuple[float, ...] = Field(
        PAPER_CHOICES, description="p, the reluctance to go back, is one of these"
    )
    q_choices: tuple[float, ...] = Field(
        PAPER_CHOICES, description="q, the reluctance to go away, is one of these"
    )
    num_negatives: int = Field(5, ge=1, description="negatives of a pair")
    num_epochs: int = Field(1, ge=1, description="passes over the walks")


class Node2vec(EmbeddingBaseline):
    """Skip-gram by gensim on walks that p and q keep near or let go.

    All p and q are tried with a tenth of the walks; the pair with the best AUC on validation
    tasks is embedded again with all of them. Either is kept on disk, for other trials.
    """

    kind_of_settings = Node2vecSettings
    settings: Node2vecSettings

    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Choose p and q on validation tasks, where there is a choice."""
        settings = self.settings
        choices = list(product(settings.p_choices, settings.q_choices))
        self.p_, self.q_ = choices[0]
        if len(choices) > 1:
            tasks = self.draw_validation_tasks(graph, split)

            def look(choice: tuple[float, float]) -> tuple[float, None]:
                self.vectors_ = self._embedded(graph, *choice, settings.tuning_walks)
                return validation_auc(self.score_tasks(tasks), tasks), None

            (self.p_, self.q_), _ = learn_best(choices, look)
        self.vectors_ = self.embed(graph)
        self.num_steps_ = settings.num_epochs * settings.walks_per_node * graph.num_nodes

    def embed(self, graph: Graph) -> Vectors:
        """The embedding with the chosen p and q."""
        return self._embedded(graph, self.p_, self.q_, self.settings.walks_per_node)

    def embed_plainly(self, graph: Graph) -> Vectors:
        """The embedding with p = q = 1: no labels are needed, not even to choose."""
        return self._embedded(graph, 1.0, 1.0, self.settings.walks_per_node)

    def _embedded(self, graph: Graph, p: float, q: float, walks_per_node: int) -> Vectors:
        names = {"dim", "window", "walk_length", "num_negatives", "num_epochs", "graph_seed"}
        facts = self.settings.model_dump(include=names)
        facts |= {"p": p, "q": q, "walks_per_node": walks_per_node}
        return cached_vectors(
            graph, "node2vec", facts, lambda: self._skip_gram(graph, p, q, walks_per_node)
        )

    def _skip_gram(self, graph: Graph, p: float, q: float, walks_per_node: int) -> Vectors:
        settings = self.settings
        walks = biased_walks(
            graph,
            length=settings.walk_length,
            walks_per_node=walks_per_node,
            p=p,
            q=q,
            seed=settings.graph_seed,
        )
        with tempfile.TemporaryDirectory(prefix="metatne-walks-") as folder:
            corpus = Path(folder) / "walks.txt"
            _write_walks(walks, corpus)
            model = Word2Vec(
                corpus_file=str(corpus),
                vector_size=settings.dim,
                window=settings.window,
                sg=1,
                hs=0,
                negative=settings.num_negatives,
                min_count=0,
                sample=0.0,
                epochs=settings.num_epochs,
                workers=1,  # more would make the result depend on their race
                seed=settings.graph_seed,
            )
        vectors = np.zeros((graph.num_nodes, settings.dim), dtype=np.float32)
        vectors[[int(word) for word in model.wv.index_to_key]] = model.wv.vectors
        return vectors


def _write_walks(walks: np.ndarray[tuple[int, int], np.dtype[np.int32]], path: Path) -> None:
    """A line a walk, as gensim's fast reader wants it."""
    names = np.char.mod("%d", np.arange(walks.max() + 1)).astype(object)
    with path.open("w", encoding="ascii") as file:
        for start in range(0, len(walks), LINES_AT_A_TIME):
            for walk in walks[start : start + LINES_AT_A_TIME]:
                file.write(" ".join(names[walk[walk != NO_NODE]]) + "\n")
