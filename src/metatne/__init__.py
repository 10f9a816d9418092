"""MetaTNE: rank every node of a graph for a new label, from a handful of examples."""

from importlib.metadata import version

from metatne.estimator import MetaTNE
from metatne.graph.datasets import load_dataset
from metatne.graph.planted import planted_graph
from metatne.graph.readers import read_graph
from metatne.graph.store import Graph

__all__ = ["Graph", "MetaTNE", "__version__", "load_dataset", "planted_graph", "read_graph"]

__version__ = version("metatne")
