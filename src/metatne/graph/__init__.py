"""Graphs: read from files or memory, cleaned once, kept as immutable arrays."""

from metatne.graph.labels import Labels
from metatne.graph.node_ids import NodeIds
from metatne.graph.readers import read_graph
from metatne.graph.report import BuildReport
from metatne.graph.store import Graph

__all__ = ["BuildReport", "Graph", "Labels", "NodeIds", "read_graph"]
