"""Every setting, with the paper's symbol, its range and the presets."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from rapidfuzz import fuzz, process

from metatne.errors import ConfigError


class Settings(BaseModel):
    """Settings of some method: each with a range, none that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def hash_settings(settings: Mapping[str, Any]) -> str:
    """12 hex digits that name settings; device and seed do not count."""
    counted = {name: value for name, value in settings.items() if name not in ("device", "seed")}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:12]


OF_BOTH_HEADS = ("positives", "negatives", "validation_tasks", "validation_share")
"""Settings that either head of MetaTNE heeds, besides `head`, the seed and the device."""


LATER_SETTINGS = {"averaging": 0.0, "most_queries": None}
"""Settings that are younger than results of ours, with the values at which trials are as before."""


def used_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of MetaTNE's settings that its head uses; the others change nothing that it learns.

    Settings without a head are another method's, and all are used. A later setting counts once it
    changes what was done before it came: results keep their names.
    """
    head = settings.get("head")
    if head is None:
        return dict(settings)
    shared = {"head", "seed", "device", *OF_BOTH_HEADS}
    return {
        name: value
        for name, value in settings.items()
        if (name in shared or name.startswith("head_") == (head == "evidence"))
        and (name, value) not in LATER_SETTINGS.items()
    }


MAX_RATE = 1e30
"""A rate beyond single precision is a mistake; one far too high is found out by its loss."""

HeadPart = Literal[
    "place",
    "degree",
    "own labels",
    "labels around",
    "expected labels",
    "expected by place",
    "mixture",
    "traits",
    "columns",
    "level",
    "walks",
]
"""What the head `evidence` is made of: blocks of its kernel, their mixture, parts of its prior, and
walks from the examples."""

SettingsKind = TypeVar("SettingsKind", bound=Settings)


class Config(Settings):
    """The settings of a model and of its training; the defaults are the preset `default`."""

    head: Literal["evidence", "prototypes"] = Field(
        "evidence",
        description="what scores a query: kernel ridge on structure and known labels (evidence), "
        "or the paper's transformation and prototypes, to which the settings of d, Tr and its "
        "training belong",
    )
    head_steps: int = Field(300, ge=0, description="steps that learn the head `evidence`")
    head_tasks: int = Field(
        1_200,
        ge=1,
        description="tasks of known labels, and of validation labels, that these steps go through",
    )
    head_tasks_per_step: int = Field(64, ge=1, description="tasks of such a step")
    head_rate: float = Field(0.05, gt=0, le=MAX_RATE, description="rate of these steps' Adam")
    head_penalty: float = Field(
        0.1, ge=0, description="weight of the squares of its prior's weights by column"
    )
    head_without: tuple[HeadPart, ...] = Field(
        (), description="parts that the head `evidence` does without, for its ablation"
    )

    dim: int = Field(128, ge=1, description="d: size of a node's embedding")
    attention_dim: int = Field(256, ge=1, description="d': size of all attention heads together")
    num_heads: int = Field(4, ge=1, description="H: attention heads")
    feedforward_dim: int = Field(256, ge=1, description="d_ff: hidden size of the feed-forward net")
    num_blocks: int = Field(1, ge=1, description="L: blocks of the transformation")
    norm_first: bool = Field(
        True, description="layer norm before each module (published code), not after it (paper)"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="P_drop: share of activations dropped")

    positives: int = Field(10, ge=1, description="K+: positive supports of a training task")
    negatives: int = Field(20, ge=1, description="K-: negative supports of a training task")
    query_positives: int | None = Field(
        6, ge=1, description="positive queries of a training task; none: as many as supports"
    )
    query_negatives: int | None = Field(
        6, ge=1, description="negative queries of a training task; none: as many as supports"
    )

    most_queries: int | None = Field(
        None,
        ge=2,
        description="queries of a training task at most: where there would be more, so many "
        "in the same ratio; none: no limit",
    )

    pairs_per_step: int = Field(1024, ge=1, description="N_1: node pairs of a structural step")
    negatives_per_pair: int = Field(5, ge=1, description="N_neg: negatives of a node pair")
    tasks_per_step: int = Field(8, ge=1, description="N_2: tasks of a meta step")
    structural_rate: float = Field(
        1e-3, gt=0, le=MAX_RATE, description="alpha_1: rate of the structural Adam"
    )
    meta_rate: float = Field(1e-3, gt=0, le=MAX_RATE, description="alpha_2: rate of the meta Adam")
    l2: float = Field(0.01, ge=0, description="lambda: weight of the squares of Tr's matrices")
    decay_rate: float = Field(1.0, ge=0, description="gamma: how fast structural steps get rarer")
    decay_period: int = Field(1, ge=1, description="N_decay: steps between two stairs of tau")

    spectral_scale: float = Field(
        0.1, ge=0, description="size of the spectral start of U; 0 is the paper's random start"
    )
    identity_start: bool = Field(
        True, description="let Tr start as the identity: what it adds to an embedding starts at 0"
    )
    anneal: bool = Field(True, description="let both rates fall to 0 towards the last step")

    averaging: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of the steps so far over which, roughly, the weights that are "
        "validated and kept are averaged; 0: those of the last step",
    )

    num_steps: int = Field(500, ge=1, description="N: steps at most")
    validate_every: int = Field(50, ge=1, description="steps between two validations")
    validation_tasks: int = Field(300, ge=1, description="tasks of a validation")
    validation_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of the known labels that measure, or choose the step",
    )
    patience: int | None = Field(
        None, ge=1, description="stop after so many validations without a better one"
    )
    validated_line: bool = Field(
        False,
        description="decide where F1 on the validation tasks is about best, not at one half",
    )

    seed: int = Field(0, ge=0, description="the one seed that everything is drawn from")
    device: str = Field("auto", description="auto, cpu, cuda, cuda:N or mps")

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.attention_dim % self.num_heads:
            raise ValueError(
                f"attention_dim ({self.attention_dim}) must be a multiple of "
                f"num_heads ({self.num_heads})"
            )
        return self


_PAPER_EVERYWHERE: dict[str, Any] = {
    "head": "prototypes",
    "dim": 128,
    "attention_dim": 256,
    "num_blocks": 1,
    "norm_first": True,
    "dropout": 0.1,
    "query_positives": None,
    "query_negatives": None,
    "negatives_per_pair": 5,
    "decay_rate": 0.1,
    "spectral_scale": 0.0,
    "identity_start": False,
    "anneal": False,
    "num_steps": 40_000,
    "validate_every": 200,
    "validation_tasks": 1_000,
    "patience": None,
}

_PAPER_COLUMNS = (
    "pairs_per_step",
    "tasks_per_step",
    "l2",
    "structural_rate",
    "meta_rate",
    "decay_period",
    "num_heads",
    "feedforward_dim",
)
_PAPER_BY_DATASET: dict[str, tuple[float, ...]] = {
    "blogcatalog": (2048, 64, 0.01, 0.001, 0.001, 500, 4, 256),
    "ppi": (1024, 128, 0.1, 0.0001, 0.001, 1000, 1, 256),
    "mashup": (2048, 32, 0.1, 0.001, 0.0001, 500, 1, 512),
    "flickr": (2048, 64, 0.1, 0.001, 0.0001, 2000, 4, 512),
}

_BRIEFLY: dict[str, Any] = {
    "tasks_per_step": 16,
    "query_positives": 6,
    "query_negatives": 6,
    "spectral_scale": 0.1,
    "identity_start": True,
    "anneal": True,
    "decay_period": 100,
    "num_steps": 1_000,
    "validation_tasks": 300,
    "validated_line": True,
}
"""A trial of half a minute instead of hours (LOG.md has what else was tried)."""

_IN_SMALL_BATCHES: dict[str, Any] = {
    "averaging": 0.25,
    "validate_every": 500,
    "validation_tasks": 300,
}
"""A trial of a minute or two instead of hours (LOG.md has how far it comes)."""

_SMALL_BATCH_COLUMNS = (
    "tasks_per_step",
    "query_positives",
    "query_negatives",
    "most_queries",
    "structural_rate",
    "meta_rate",
    "decay_period",
    "num_steps",
)
_SMALL_BATCHES_BY_DATASET: dict[str, tuple[float | None, ...]] = {
    "blogcatalog": (16, 2, 10, None, 0.002, 0.001, 250, 4_500),
    "ppi": (8, None, None, 30, 0.0001, 0.002, 1000, 5_000),
    "mashup": (16, 2, 10, None, 0.002, 0.0001, 250, 4_500),
    "flickr": (16, 2, 10, None, 0.002, 0.0001, 1000, 9_000),
}
"""What validation tasks of BlogCatalog and PPI preferred at equal cost, of what was tried.

On BlogCatalog structural steps get rarer twice as soon, at twice their rate, and most queries of a
training task lack its label, whatever the ratio of its supports. On PPI a batch
of 8 tasks touches fewer rows of U than the published 128, so that at the published rate U learns
more slowly, step by step. The two that could not be had are as BlogCatalog, with their own rates of
the meta steps, and Flickr with its own longer schedule.
"""

HOW_PRESETS_ARE_GIVEN = (
    "; a preset stands for many settings: --preset NAME, "
    "or in Python MetaTNE(**metatne.config.preset(NAME))"
)

PRESETS = ("default", "short", "brief", "paper-small", "paper")

TAKE_THE_PAPERS_HEAD = f"--preset {', '.join(PRESETS[1:-1])} or {PRESETS[-1]}"
"""How the network of the paper is asked for."""


def preset(name: str, dataset: str | None = None) -> dict[str, Any]:
    """The settings of a preset: `default` for any graph, `paper` as published for its four.

    `short` is the paper's network for the impatient: from a spectral start, in 500 steps.
    `brief` is `paper` with its sizes and rates, from a spectral start, in 1,000 steps of small
    batches, and with decisions at a line that validation tasks choose.
    `paper-small` is `paper`, its random start too, with small batches of tasks, averaged weights
    and a ninth of the steps (PPI: an eighth, Flickr: a quarter), PPI at twice the meta rate, the
    others at twice the structural rate and half the decay period, with five queries that lack the
    label to one that holds it: minutes.
    On a graph that the paper does not have, these three take BlogCatalog's column.
    """
    if name == "default":
        return {}
    if name == "short":
        return {"head": "prototypes"}
    column = _PAPER_BY_DATASET.get(dataset or "", _PAPER_BY_DATASET["blogcatalog"])
    published = _PAPER_EVERYWHERE | dict(zip(_PAPER_COLUMNS, column, strict=True))
    if name == "brief":
        return published | _BRIEFLY
    if name == "paper-small":
        small = _SMALL_BATCHES_BY_DATASET.get(
            dataset or "", _SMALL_BATCHES_BY_DATASET["blogcatalog"]
        )
        return published | _IN_SMALL_BATCHES | dict(zip(_SMALL_BATCH_COLUMNS, small, strict=True))
    if name == "paper":
        return published
    raise not_one_of("preset", name, PRESETS)


def not_one_of(field: str, found: str, choices: Iterable[str]) -> ConfigError:
    """What to say of a name that is none of those there are."""
    names = list(choices)
    return ConfigError(
        f"{field}: expected one of {', '.join(names)}, found {found!r}"
        f"{did_you_mean(str(found), names)}"
    )


def did_you_mean(found: str, names: Iterable[str]) -> str:
    """The nearest of some names as the end of a message, if one is near."""
    near = process.extractOne(
        found, names, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=60
    )
    return f"; did you mean {near[0]!r}?" if near else ""


def make_config(settings: Mapping[str, Any], *, source: str = "settings") -> Config:
    """A `Config` of these settings; every bad one is named with what was expected."""
    return make_settings(Config, settings, source=source)


OF_OURS = "Value error, "
"""What Pydantic says before a message of our own."""


def expected_and_found(message: str, value: object) -> str:
    """A value that Pydantic refused, in our words."""
    expected = message.removeprefix(OF_OURS).removeprefix("Input should be ")
    return f"expected {expected}, found {value!r}"


def make_settings(
    kind: type[SettingsKind], settings: Mapping[str, Any], *, source: str
) -> SettingsKind:
    """Settings of this kind; every bad one is named with what was expected."""
    known = list(kind.model_fields)
    for key in settings:
        if key not in known:
            is_preset = key == "preset" and kind is Config  # other methods have none
            hint = HOW_PRESETS_ARE_GIVEN if is_preset else did_you_mean(key, known)
            raise ConfigError(f"{source}: there is no setting {key!r}{hint}")
    try:
        return kind(**settings)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            field = ".".join(str(part) for part in problem["loc"])
            lines.append(
                f"{source}: {field}: {expected_and_found(problem['msg'], problem['input'])}"
                if field
                else f"{source}: {problem['msg'].removeprefix(OF_OURS)}"
            )
        raise ConfigError("\n".join(lines)) from error


def read_toml(path: Path) -> dict[str, Any]:
    """The settings in a TOML file, one `key = value` a line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from error


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """The settings written as `key=value`, each value as TOML would have it, else as text."""
    settings: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set: expected key=value, found {assignment!r}")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        settings[key.strip()] = None if value == "none" else value
    return settings
