"""Settings: what is refused and how, the presets as published, the name of a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from metatne.config import (
    OF_BOTH_HEADS,
    Config,
    hash_settings,
    make_config,
    parse_assignments,
    preset,
    read_toml,
    used_settings,
)
from metatne.errors import ConfigError

# As published: N1, N2, lambda, alpha_1, alpha_2, N_decay, d', H, d_ff, L.
PUBLISHED: dict[str, tuple[float, ...]] = {
    "blogcatalog": (2048, 64, 0.01, 0.001, 0.001, 500, 256, 4, 256, 1),
    "ppi": (1024, 128, 0.1, 0.0001, 0.001, 1000, 256, 1, 256, 1),
    "mashup": (2048, 32, 0.1, 0.001, 0.0001, 500, 256, 1, 512, 1),
    "flickr": (2048, 64, 0.1, 0.001, 0.0001, 2000, 256, 4, 512, 1),
}


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_the_paper_preset_is_the_published_table(dataset: str) -> None:
    config = make_config(preset("paper", dataset))
    assert (
        config.pairs_per_step,
        config.tasks_per_step,
        config.l2,
        config.structural_rate,
        config.meta_rate,
        config.decay_period,
        config.attention_dim,
        config.num_heads,
        config.feedforward_dim,
        config.num_blocks,
    ) == PUBLISHED[dataset]
    assert (config.dim, config.negatives_per_pair, config.dropout, config.decay_rate) == (
        *(128, 5),
        *(0.1, 0.1),
    )
    assert (config.num_steps, config.validate_every, config.validation_tasks) == (40_000, 200, 1000)
    assert config.norm_first
    assert config.patience is None
    assert config.query_positives is None
    assert config.query_negatives is None
    assert config.spectral_scale == 0
    assert not config.identity_start
    assert not config.anneal


def test_elsewhere_the_paper_preset_is_blogcatalogs() -> None:
    assert preset("paper", "my graph") == preset("paper", "blogcatalog") == preset("paper")
    assert preset("paper", "ppi") != preset("paper", "blogcatalog")


def test_brief_has_the_sizes_and_rates_of_the_paper() -> None:
    """What is otherwise: the start, the batches, how long they go on, and the line."""
    start = {"spectral_scale", "identity_start"}
    batches = {"tasks_per_step", "query_positives", "query_negatives", "validation_tasks"}
    length = {"num_steps", "decay_period", "anneal"}
    for dataset in ("ppi", "blogcatalog"):
        brief, paper = (
            make_config(preset(name, dataset)).model_dump() for name in ("brief", "paper")
        )
        changed = {name for name in paper if brief[name] != paper[name]}
        assert changed == start | batches | length | {"validated_line"}


@pytest.mark.parametrize("dataset", ["ppi", "blogcatalog", "mashup", "flickr"])
def test_the_papers_network_in_small_batches(dataset: str) -> None:
    """Published but for batches, queries, averaged weights, validation, length, and one rate."""
    small, paper = (make_config(preset(name, dataset)) for name in ("paper-small", "paper"))
    of_both = small.model_dump().items() & paper.model_dump().items()
    changed = set(paper.model_dump()) - {name for name, _ in of_both}
    batches = {"tasks_per_step", "averaging", "num_steps"}
    validation = {"validate_every", "validation_tasks"}
    queries, faster = (
        ({"most_queries"}, {"meta_rate"})
        if dataset == "ppi"
        else ({"query_positives", "query_negatives"}, {"structural_rate", "decay_period"})
    )
    assert changed == batches | validation | queries | faster


def test_the_default_preset_changes_nothing() -> None:
    assert preset("default", "ppi") == {}
    assert make_config(preset("default")).model_dump() == {
        name: field.default for name, field in Config.model_fields.items()
    }


def test_an_unknown_preset() -> None:
    with pytest.raises(
        ConfigError,
        match=r"preset: expected one of default, short, brief, paper-small, paper, found 'fast'",
    ):
        preset("fast")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "given: dim: expected greater than or equal to 1, found 0"),
        ({"dropout": 1.0}, "given: dropout: expected less than 1, found 1.0"),
        ({"meta_rate": 0}, "given: meta_rate: expected greater than 0, found 0"),
        ({"l2": -0.1}, "given: l2: expected greater than or equal to 0, found -0.1"),
        ({"num_steps": 1.5}, "given: num_steps: expected a valid integer"),
        ({"dim": "wide"}, "given: dim: expected a valid integer"),
        ({"patience": 0}, "given: patience: expected greater than or equal to 1, found 0"),
        ({"validation_share": 1}, "given: validation_share: expected less than 1, found 1"),
        ({"seed": -1}, "given: seed: expected greater than or equal to 0, found -1"),
        (
            {"attention_dim": 6, "num_heads": 4},
            "given: attention_dim (6) must be a multiple of num_heads (4)",
        ),
        ({"hidden": 3}, "given: there is no setting 'hidden'"),
        ({"l2": float("inf")}, "given: l2: expected a finite number, found inf"),
        ({"preset": "paper"}, "no setting 'preset'; a preset stands for many settings: --preset"),
        ({"num_step": 3}, "given: there is no setting 'num_step'; did you mean 'num_steps'?"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        make_config(settings, source="given")
    assert message in str(raised.value)


def test_a_name_that_is_like_none_gets_no_guess() -> None:
    with pytest.raises(ConfigError, match=r"there is no setting 'shots'$"):
        make_config({"shots": 3})


def test_all_bad_settings_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as raised:
        make_config({"dim": 0, "seed": -1})
    lines = str(raised.value).splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["dim", "seed"]


def test_settings_do_not_change_once_made() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        make_config({}).dim = 3


def test_every_setting_says_what_it_is() -> None:
    assert all(field.description for field in Config.model_fields.values())


@pytest.mark.parametrize("head", ["evidence", "prototypes"])
def test_the_hash_names_what_changes_a_result(head: str) -> None:
    """A setting of the other head is none of these, nor are device and seed."""

    def hashed(settings: dict[str, Any]) -> str:
        return hash_settings(used_settings(make_config({"head": head} | settings).model_dump()))

    plain = hashed({})
    assert len(plain) == 12
    counted = {
        name
        for name, default in make_config({}).model_dump().items()
        if name != "head" and hashed({name: another(default)}) != plain
    }
    of_evidence = {name for name in Config.model_fields if name.startswith("head_")}
    of_prototypes = {*Config.model_fields} - of_evidence - {"head", "device", "seed"}
    assert counted == (of_prototypes if head == "prototypes" else {*OF_BOTH_HEADS, *of_evidence})


def test_results_keep_their_hash_when_a_setting_is_added() -> None:
    """That of the preset `brief` on PPI, as it was before there were averages of weights."""
    settings = make_config(preset("brief", "ppi")).model_dump()
    assert hash_settings(used_settings(settings)) == "4e5cfad9d405"
    assert used_settings(settings | {"averaging": 0.1})["averaging"] == 0.1


def test_settings_of_another_method_are_all_used() -> None:
    assert used_settings({"rate": 2, "head_steps": 5}) == {"rate": 2, "head_steps": 5}


def another(value: Any) -> Any:
    """A value that a setting with this default may also have."""
    if value in ("auto", ()):
        return "cpu" if value else ("level",)
    if value is None or isinstance(value, bool):
        return 3 if value is None else not value
    return 2 * value if isinstance(value, int) else value / 2 or 0.5


def test_toml_files(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('dim = 64\nnorm_first = false\nl2 = 0.5\ndevice = "cpu"\n')
    assert read_toml(file) == {"dim": 64, "norm_first": False, "l2": 0.5, "device": "cpu"}
    file.write_text("dim = \n")
    with pytest.raises(ConfigError, match=r"settings\.toml: not a TOML file: .*line 1"):
        read_toml(file)
    file.write_bytes(b"dim = 6 # \xff\n")
    with pytest.raises(ConfigError, match=r"settings\.toml: not a TOML file"):
        read_toml(file)
    with pytest.raises(ConfigError, match=r"missing\.toml: no such file"):
        read_toml(tmp_path / "missing.toml")


def test_a_directory_is_no_toml_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=str(tmp_path)):
        read_toml(tmp_path)


def test_assignments() -> None:
    given = ["dim=64", "l2 = 0.5", "norm_first=false", "device=cpu", "patience=none", 'a="x=y"']
    assert parse_assignments(given) == {
        "dim": 64,
        "l2": 0.5,
        "norm_first": False,
        "device": "cpu",
        "patience": None,
        "a": "x=y",
    }
    make_config(parse_assignments(given[:-1]))


@pytest.mark.parametrize("bad", ["dim", "=3", ""])
def test_bad_assignments(bad: str) -> None:
    with pytest.raises(ConfigError, match=f"--set: expected key=value, found '{bad}'"):
        parse_assignments([bad])
