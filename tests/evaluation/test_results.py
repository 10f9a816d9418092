"""Finished trials as JSON lines: whole, locked, and read back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cli.running import files_up_to
from metatne.errors import FileFormatError, WriteError
from metatne.evaluation.results import KEY, MEASURED, ResultsFile, trial_key


def row_of(trial: int, **more: Any) -> dict[str, Any]:
    key: dict[str, Any] = dict.fromkeys((*KEY, *MEASURED), 1)
    return key | {"dataset": "Gödel's", "trial": trial, "auc": 0.5} | more


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "deep" / "results.jsonl")
    assert results.rows() == []
    for trial in (1, 2):
        results.append(row_of(trial))
    assert results.rows() == [row_of(1), row_of(2)]
    assert len(results.path.read_text().splitlines()) == 2


def test_the_key_is_what_a_trial_is_known_by() -> None:
    assert trial_key(row_of(1)) == trial_key(row_of(1, auc=0.7))
    for key in KEY:
        assert trial_key(row_of(1)) != trial_key(row_of(1) | {key: 99})


def test_half_a_line_at_the_end_does_not_count(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append(row_of(1))
    with results.path.open("a") as file:
        file.write('{"dataset": "Gö')
    assert results.rows() == [row_of(1)]
    results.append(row_of(2))
    assert results.rows() == [row_of(1), row_of(2)]


def test_nothing_but_half_a_line(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.path.write_text('{"dataset"')
    assert results.rows() == []
    results.append(row_of(1))
    assert results.rows() == [row_of(1)]


def test_a_file_of_somebody_else_is_not_cut(tmp_path: Path) -> None:
    """Without a line's end it must not pass for what a crash left."""
    results = ResultsFile(tmp_path / "notes.txt")
    results.path.write_text("buy milk")
    with pytest.raises(FileFormatError, match=r"notes\.txt: expected lines of JSON, found 'buy"):
        results.rows()
    with pytest.raises(FileFormatError, match=r"notes\.txt: expected lines of JSON, found 'buy"):
        results.append(row_of(1))
    assert results.path.read_text() == "buy milk"


def test_empty_lines_are_passed_over(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append(row_of(1))
    with results.path.open("a") as file:
        file.write("\n\n")
    results.append(row_of(2))
    assert results.rows() == [row_of(1), row_of(2)]


def test_bad_lines_are_named(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append(row_of(1))
    with results.path.open("a") as file:
        file.write('not json\n{"dataset": "x"}\n3\n"text"\n')
        row = row_of(2)
        del row["method"]
        file.write(f"{json.dumps(row)}\n")
    with pytest.raises(FileFormatError) as raised:
        results.rows()
    lines = str(raised.value).splitlines()
    assert [bad.line for bad in raised.value.bad_lines] == [2, 3, 4, 5, 6]
    assert lines[0] == f"{results.path}:2: expected a JSON object, found 'not json'"
    assert lines[1].endswith("""found something else: '{"dataset": "x"}'""")
    assert lines[-2].endswith("found no method")
    assert lines[-1].startswith("take these lines away")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"auc": 0.5', '"auc": 0.7'),
        ('"auc": 0.5', '"auc": NaN'),
        ('"checksum"', '"checksun"'),
        ("del's", "dex's"),
    ],
)
def test_a_line_that_was_changed_is_named(tmp_path: Path, before: str, after: str) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    for trial in (1, 2):
        results.append(row_of(trial))
    lines = results.path.read_text().splitlines(keepends=True)
    lines[1] = lines[1].replace(before, after)
    results.path.write_text("".join(lines))
    with pytest.raises(FileFormatError, match=r"results\.jsonl:2: expected a "):
        results.rows()


def test_lines_of_before_had_no_checksum(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.path.write_text(json.dumps(row_of(1)) + "\n")
    results.append(row_of(2))
    assert results.rows() == [row_of(1), row_of(2)]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append(row_of(1))
    before = results.path.read_bytes()
    told = r"results\.jsonl could not be written: File too large; .* unchanged"
    with files_up_to(len(before) + 20), pytest.raises(WriteError, match=told):
        results.append(row_of(2))
    assert results.path.read_bytes() == before
    results.append(row_of(2))
    assert results.rows() == [row_of(1), row_of(2)]


def test_numbers_that_are_none_are_not_written(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append(row_of(1))
    with pytest.raises(ValueError, match="Out of range float values"):
        results.append(row_of(2, auc=float("nan")))
    assert results.rows() == [row_of(1)]


def test_many_may_append_at_once(tmp_path: Path) -> None:
    """Each opens the file for itself, so threads are locked out as processes would be."""
    path = tmp_path / "results.jsonl"

    def append_some(first: int) -> None:
        for trial in range(first, first + 40):
            ResultsFile(path).append(row_of(trial))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append_some, (0, 100, 200, 300)))
    trials = [row["trial"] for row in ResultsFile(path).rows()]
    assert sorted(trials) == [first + i for first in (0, 100, 200, 300) for i in range(40)]


def test_a_trial_that_two_commands_ran_counts_once(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    for trial, auc in ((1, 0.5), (2, 0.6), (1, 0.7)):
        results.append(row_of(trial, auc=auc))
    assert results.rows() == [row_of(1, auc=0.5), row_of(2, auc=0.6)]
