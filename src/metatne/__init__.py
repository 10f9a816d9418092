"""MetaTNE: rank every node of a graph for a new label, from a handful of examples."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metatne.estimator import MetaTNE
    from metatne.graph.datasets import load_dataset
    from metatne.graph.planted import planted_graph
    from metatne.graph.readers import read_graph
    from metatne.graph.store import Graph

__all__ = ["Graph", "MetaTNE", "__version__", "load_dataset", "planted_graph", "read_graph"]

__version__ = version("metatne")

_HOMES = {
    "Graph": "metatne.graph.store",
    "MetaTNE": "metatne.estimator",
    "load_dataset": "metatne.graph.datasets",
    "planted_graph": "metatne.graph.planted",
    "read_graph": "metatne.graph.readers",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for: PyTorch alone takes seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
