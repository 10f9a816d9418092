"""An evidence model as named tensors, and back; tables in the half precision they were made in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from metatne.evidence.adaptation import Expert
from metatne.evidence.calibration import Calibration
from metatne.evidence.description import (
    NUM_HOPS,
    OTHERS,
    OWN,
    TRAITS,
    Description,
    mixed_places,
)
from metatne.evidence.head import NOTHING, Encoding, EvidenceHead
from metatne.evidence.model import EvidenceModel
from metatne.evidence.place import Place
from metatne.evidence.reach import Reach
from metatne.graph.walk import Adjacency

Tensors = dict[str, Tensor]
HALF = ("around", "expected", "by_place")
SINGLE = ("degree", "around_known", "share", "rarity")

OTHERS_AT_FIRST = 8
"""Blocks without those of own labels, before the degree and what is expected by place."""


def to_tensors(model: EvidenceModel) -> Tensors:
    """All that the model is."""
    description = model.description
    tensors = {
        f"description.{name}": torch.from_numpy(getattr(description, name)).half() for name in HALF
    }
    tensors |= {
        f"description.{name}": torch.from_numpy(getattr(description, name))
        for name in (*SINGLE, "columns", "states")
    }
    tensors["description.place"] = torch.from_numpy(description.place.rows).half()
    tensors["description.stride"] = torch.tensor(description.place.stride)
    tensors |= _of_edges(description.reach)
    tensors["description.is_known_by_holding"] = torch.tensor(description.is_known_by_holding)
    tensors["typical_share"] = torch.tensor(model.typical_share, dtype=torch.float64)
    experts = {"unannotated": model.unannotated}
    if model.annotated is not model.unannotated:
        experts["annotated"] = model.annotated
    for name, expert in experts.items():
        tensors |= {f"{name}.{part}": tensor for part, tensor in _of_expert(expert).items()}
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def from_tensors(tensors: Tensors, label_names: Sequence[str]) -> EvidenceModel:
    """The model of these tensors; KeyError or ValueError where they are not one's."""
    tensors = _as_today(tensors)
    description = Description(
        **{name: _numpy(tensors[f"description.{name}"].float()) for name in HALF + SINGLE},
        **{name: _numpy(tensors[f"description.{name}"]) for name in ("columns", "states")},
        place=_to_place(_part(tensors, "description")),
        is_known_by_holding=bool(tensors.get("description.is_known_by_holding", False)),
        reach=Reach(_to_adjacency(_part(tensors, "edges"))),
    )
    _check_sizes(description)
    if len(label_names) != description.states.shape[1]:
        raise ValueError(
            f"{len(label_names)} label names for {description.states.shape[1]} columns"
        )
    unannotated = _to_expert(_part(tensors, "unannotated"))
    of_annotated = _part(tensors, "annotated")
    return EvidenceModel(
        description=description,
        # Where nothing could be learned of annotated nodes, one expert is for all.
        annotated=_to_expert(of_annotated) if of_annotated else unannotated,
        unannotated=unannotated,
        label_names=tuple(label_names),
        typical_share=float(tensors["typical_share"]),
    )


def _to_place(tensors: Tensors) -> Place:
    stride = tensors.get("stride", torch.tensor(1))  # which it was before there were two
    if stride.shape != () or stride.item() not in (1, 2):
        raise ValueError(f"stride: expected 1 or 2, found {stride.tolist()}")
    return Place(_numpy(tensors["place"].float()), int(stride))


def _of_edges(reach: Reach) -> Tensors:
    return {
        f"edges.{name}": torch.from_numpy(np.array(array))  # one that is mapped cannot be a tensor
        for name, array in reach.adjacency._asdict().items()
    }


def _to_adjacency(tensors: Tensors) -> Adjacency:
    """Edges that lead to nodes; what leads elsewhere would be read from other memory."""
    # Copied: what is mapped lies at any address, and loops are compiled for arrays that do not.
    indptr, indices, weights = (
        np.array(_numpy(tensors[name])) for name in ("indptr", "indices", "weights")
    )
    num_nodes = len(indptr) - 1
    if not indptr.ndim == indices.ndim == weights.ndim == 1:
        raise ValueError("edges: expected lists, found tables")
    if indptr.dtype != np.int64 or indices.dtype.kind != "i" or weights.dtype != np.float32:
        raise ValueError("edges: expected whole numbers, and weights of single precision")
    if num_nodes < 0 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError("edges: their bounds are out of order")
    if len(indices) and not 0 <= indices.min() <= indices.max() < num_nodes:
        raise ValueError(f"edges: expected nodes below {num_nodes}, found {indices.max()}")
    smallest = np.finfo(np.float32).tiny  # below it, dividing by one has no result
    if (
        len(weights) not in (0, len(indices))
        or not (np.isfinite(weights) & (weights >= smallest)).all()
    ):
        raise ValueError("edges: expected a weight above 0 for each, or none")
    return Adjacency(indptr, indices, weights)


def _check_sizes(description: Description) -> None:
    """Refuse tables that do not belong together, or have what is no number."""
    place = description.place.rows
    nodes, columns = len(place), len(description.columns)
    expected = {
        "states": (nodes, columns),
        "around": (NUM_HOPS, nodes, columns),
        "expected": (nodes, columns),
        "by_place": (nodes, columns),
        "degree": (nodes,),
        "around_known": (nodes,),
        "share": (columns,),
        "rarity": (columns,),
    }
    if description.reach.adjacency.num_nodes != nodes:
        found = description.reach.adjacency.num_nodes
        raise ValueError(f"edges: expected {nodes} nodes, found {found}")
    tables = {name: getattr(description, name) for name in expected} | {"place": place}
    expected["place"] = (nodes, place.shape[-1])
    for name, shape in expected.items():
        table = tables[name]
        if table.shape != shape:
            raise ValueError(f"{name}: expected the shape {shape}, found {table.shape}")
        if not np.isfinite(table).all():
            raise ValueError(f"{name}: expected numbers, found some that are none")


def _of_expert(expert: Expert) -> Tensors:
    encoding, calibration = expert.encoding, expert.calibration
    tensors = {f"head.{name}": tensor for name, tensor in expert.head.state_dict().items()}
    for number, mean in enumerate(encoding.means):
        tensors[f"mean.{number}"] = torch.from_numpy(mean)
    tensors["scales"] = torch.tensor(encoding.scales, dtype=torch.float64)
    tensors["slopes"] = torch.tensor(calibration.slopes, dtype=torch.float64)
    tensors["intercepts"] = torch.tensor(calibration.intercepts, dtype=torch.float64)
    tensors["shapes"] = torch.tensor(calibration.shapes, dtype=torch.int64)
    tensors["num_few"] = torch.tensor(calibration.num_few)
    tensors["lifts"] = torch.from_numpy(calibration.lifts)
    tensors["of_holders"] = torch.from_numpy(calibration.of_holders)
    tensors["of_others"] = torch.from_numpy(calibration.of_others)
    return tensors


def _to_expert(tensors: Tensors) -> Expert:
    """An expert; how many blocks and traits it has says whose own labels it looks at."""
    scales = tensors["scales"].tolist()
    means = [_numpy(tensors[f"mean.{number}"]) for number in range(len(scales))]
    if len(scales) not in (len(OTHERS), len(OWN + OTHERS)):
        raise ValueError(
            f"expected {len(OTHERS)} or {len(OWN + OTHERS)} blocks, found {len(scales)}"
        )
    weights = _part(tensors, "head")
    encoding = Encoding(
        means,
        scales,
        with_own_labels=len(scales) == len(OWN + OTHERS),
        asks_annotated=len(weights["by_trait"]) == len(TRAITS),
    )
    _check_head(encoding, weights)
    head = EvidenceHead(
        len(weights["log_weights"]),
        len(weights["by_trait"]),
        len(weights["by_column"]),
        encoding.mixed,
    )
    head.load_state_dict(weights)
    first, second, third = tensors["slopes"].tolist()
    fourth, fifth, sixth = tensors["intercepts"].tolist()
    shapes = tuple((int(p), int(n)) for p, n in tensors["shapes"].tolist())
    num_few = int(tensors.get("num_few", torch.tensor(len(shapes))))  # all, before there were many
    if not 1 <= num_few <= len(shapes):
        raise ValueError(f"num_few: expected 1 to {len(shapes)}, found {num_few}")
    lifts = _numpy(tensors["lifts"])
    if lifts.shape != (len(shapes),):
        raise ValueError(f"lifts: expected {len(shapes)} numbers, found {lifts.shape}")
    calibration = Calibration(
        slopes=(first, second, third),
        intercepts=(fourth, fifth, sixth),
        shapes=shapes,
        num_few=num_few,
        lifts=lifts,
        of_holders=_numpy(tensors["of_holders"]),
        of_others=_numpy(tensors["of_others"]),
    )
    return Expert(encoding, head.eval(), calibration)


def _check_head(encoding: Encoding, weights: Tensors) -> None:
    """Refuse numbers of weights that no head has."""
    if encoding.asks_annotated and not encoding.with_own_labels:
        raise ValueError("the head looks at own labels that it has no blocks of")
    expected = {
        "mixing": len(encoding.mixed),
        "by_trait": len(encoding.traits),
        "by_column": sum(len(encoding.means[block]) for block in encoding.of_prior),
        "log_reach": 2,
    }
    for name, size in expected.items():
        if len(weights[name]) != size:
            raise ValueError(f"{name}: expected {size} numbers, found {len(weights[name])}")


def _as_today(tensors: Tensors) -> Tensors:
    """A model of before some blocks, their mixture, walks or lifts were there, which count for
    nothing.

    One of before blocks were mixed scores as it did but where an example is not annotated, whose
    own labels now say nothing.
    """
    experts = [name for name in ("annotated", "unannotated") if f"{name}.scales" in tensors]
    if not any(f"{name}.head.mixing" in tensors for name in experts):  # nor was the degree a block
        for name in experts:
            has_own_labels = len(tensors[f"{name}.scales"]) > OTHERS_AT_FIRST
            mixed = mixed_places((OWN if has_own_labels else ()) + OTHERS)
            mixing = torch.zeros(len(mixed) - 1)  # that of labels expected by place comes next
            tensors = _with_silent_block(tensors, name, width=1)
            tensors = tensors | {f"{name}.head.mixing": mixing}
    if "description.by_place" not in tensors:
        nothing = torch.zeros_like(tensors["description.expected"])
        tensors = tensors | {"description.by_place": nothing}
        for name in experts:
            mixing = tensors[f"{name}.head.mixing"]
            tensors = _with_silent_block(tensors, name, width=nothing.shape[1])
            tensors = tensors | {f"{name}.head.mixing": torch.cat((mixing, mixing.new_zeros(1)))}
    if "edges.indptr" not in tensors:
        nowhere = Reach.nowhere(len(tensors["description.place"]))
        tensors = tensors | _of_edges(nowhere)
        tensors |= {f"{name}.head.log_reach": torch.full((2,), NOTHING) for name in experts}
    unlifted = [name for name in experts if f"{name}.lifts" not in tensors]
    return tensors | {
        f"{name}.lifts": torch.zeros(len(tensors[f"{name}.shapes"]), dtype=torch.float64)
        for name in unlifted
    }


def _with_silent_block(tensors: Tensors, name: str, *, width: int) -> Tensors:
    """An expert with one block more, the last, that says nothing."""
    scales, weights = tensors[f"{name}.scales"], tensors[f"{name}.head.log_weights"]
    return tensors | {
        f"{name}.mean.{len(scales)}": torch.zeros(width),
        f"{name}.scales": torch.cat((scales, scales.new_zeros(1))),
        f"{name}.head.log_weights": torch.cat((weights, weights.new_full((1,), NOTHING))),
    }


def _part(tensors: Tensors, name: str) -> Tensors:
    prefix = f"{name}."
    return {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}


def _numpy(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = tensor.numpy()
    return array
