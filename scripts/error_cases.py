"""Bad inputs to the command line, by chapter of docs/errors.md, each with its cure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from village import SMALL, write_file, write_smaller_graph


@dataclass(frozen=True)
class Case:
    """A bad input and the cure."""

    title: str
    command: str
    advice: str
    files: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = lambda: None


def chapters(num_lines: int) -> dict[str, list[Case]]:
    """Cases by heading; `num_lines` is the length of the long file."""
    return {
        "Reading a graph": _reading(num_lines),
        "Training": _training(),
        "Ranking": _ranking(),
        "Evaluating": _evaluating(),
    }


def _reading(num_lines: int) -> list[Case]:
    def write_long_file() -> None:
        lines = [f"{i},{i + 1}" for i in range(num_lines)]
        lines[num_lines // 2 - 1] = lines[num_lines // 2 - 1].split(",")[0]
        write_file("long.csv", "\n".join(lines))

    return [
        Case(
            "A broken line in the middle of a million",
            "metatne graph import long.csv --out mine",
            "Mend the line that is named, or delete it. Nothing was written.",
            prepare=write_long_file,
        ),
        Case(
            "Several bad lines",
            "metatne graph import bad.csv --out mine",
            "All are named, up to ten, so that one look mends the file.",
            files={
                "bad.csv": "source,target,weight\nanna,bela,1\nanna,,2\nbela,carl,-3\n"
                + "".join(f"carl,dora,{word}\n" for word in ("much", "nan", "0"))
                + "dora,emil\n" * 8
            },
        ),
        Case(
            "Labels of a node that is not in the graph",
            "metatne graph import edges.csv --labels clubs.csv --out mine",
            "Most often a misspelt id. If the node is meant to be there, without any edge, "
            "`--keep-unlinked` keeps it as an isolated node.",
            files={"clubs.csv": "node,label\nanna stone,chess\nana stone,choir\nzoe,choir\n"},
        ),
        Case(
            "A node that holds a label and lacks it",
            "metatne graph import edges.csv --labels clubs.csv --out mine",
            "Decide which of the two lines is right; an unknown state is written as an empty "
            "third field.",
            files={
                "clubs.csv": "node,label,state\nanna stone,chess,1\nbela stone,chess,1\n"
                "anna stone,chess,0\n"
            },
        ),
        Case(
            "A label file that can be read in two ways",
            "metatne graph import edges.csv --labels clubs.csv --out mine",
            "Say which kind it is with `--label-format`.",
            files={"clubs.csv": "person,chess\nanna stone,1\nbela stone,0\n"},
        ),
        Case(
            "An empty graph",
            "metatne graph import empty.csv --out mine",
            "A graph has at least one edge; look whether this is the right file.",
            files={"empty.csv": "# exported on a Monday\n"},
        ),
        Case(
            "A graph of self-loops",
            "metatne graph import loops.csv --out mine",
            "Self-loops are removed, and then an edge between two nodes has to be left.",
            files={"loops.csv": "anna,anna\nbela,bela\n"},
        ),
        Case(
            "A file that is not there",
            "metatne graph import egdes.csv --out mine",
            "Mind the spelling, and the directory that you are in.",
        ),
        Case(
            "An output that exists",
            "metatne graph import edges.csv --out village",
            "Name another directory. `--overwrite` replaces a stored graph (or, for `train`, a "
            "saved model), and only that: another kind of directory is never replaced.",
        ),
        Case(
            "A data set that does not exist",
            "metatne graph info blogcatlog",
            "`metatne datasets` lists the names; a graph of your own is named by its directory.",
        ),
        Case(
            "A file where a graph is expected",
            "metatne train edges.csv --out mine",
            "Import the file first: `metatne graph import edges.csv --labels … --out mygraph`.",
        ),
    ]


def _training() -> list[Case]:
    return [
        Case(
            "Labels with too few holders",
            "metatne train village --out mine --set positives=20",
            "A task draws `positives` holders as examples and as many to ask about. Train on "
            "smaller tasks (`--set positives=3`), or give labels that more nodes hold.",
        ),
        Case(
            "A graph without labels",
            "metatne train hamlet --out mine",
            "Labels to learn from are needed: import the graph with `--labels`.",
        ),
        Case(
            "A setting that is misspelt",
            "metatne train village --out mine --set dimm=64",
            "[cli.md](cli.md#settings) lists the settings.",
        ),
        Case(
            "Settings out of range",
            "metatne train village --out mine --config mine.toml",
            "Each is named with what was expected.",
            files={"mine.toml": 'dropout = 1.5\nnum_steps = 0\ndim = "many"\n'},
        ),
        Case(
            "Settings that do not fit together",
            "metatne train village --out mine --set num_heads=3",
            "Choose one so that the width divides evenly among the heads.",
        ),
        Case(
            "Not enough memory",
            "metatne train village --out mine --preset short --set positives=3 --set negatives=4 "
            "--set dim=999999",
            "Refused before it starts (here on a machine that has 8 GiB to give); the same "
            "command may be fine on a larger machine.",
        ),
        Case(
            "A model that exists",
            "metatne train village --out model",
            "Name another directory, or replace the model with `--overwrite`.",
        ),
        Case(
            "An unfinished training in the way",
            "metatne train village --out stopped",
            "A training was stopped here. Go on with it, or start again; it is not thrown away "
            "unless that is asked for.",
        ),
        Case(
            "Resuming with other settings",
            f"metatne train village --out stopped --resume {SMALL} --seed 7",
            "Give the settings that the training was started with, so that it ends with the "
            "numbers of an unbroken one.",
        ),
        Case(
            "Resuming on another graph",
            f"metatne train smaller --out stopped --resume {SMALL}",
            "Give the graph that the training was started on.",
            prepare=write_smaller_graph,
        ),
        Case(
            "Nothing to resume",
            "metatne train village --out mine --resume",
            "Start without `--resume`; mind that MODEL is the name given to `--out` then.",
        ),
        Case(
            "Workers without Ray",
            "metatne train village --out mine --workers 4",
            "Add `--engine ray`. Without Ray a training uses the cores of this machine anyway.",
        ),
    ]


def _ranking() -> list[Case]:
    return [
        Case(
            "Nodes that do not exist",
            "metatne predict model -p 'ana stone' -p 'Kurt wood' -p zebulon",
            "The nearest ids are suggested; ids are told apart by case.",
        ),
        Case(
            "The same node as positive and negative",
            "metatne predict model -p 'anna stone' -p 'ida wood' -n 'ida wood'",
            "A node either holds the label or lacks it: leave it out on one side.",
        ),
        Case(
            "The same node twice",
            "metatne predict model -p 'anna stone' -p 'anna stone'",
            "Name each example once.",
        ),
        Case(
            "No example",
            "metatne predict model -n 'anna stone'",
            "At least one positive is needed; negatives may be left out.",
        ),
        Case(
            "Bad lines in a file of examples",
            "metatne predict model --support support.csv",
            "Each line has a node and 1 (holds the label) or 0 (lacks it).",
            files={"support.csv": "node,holds\nanna stone,1\nbela stone,yes\ncarl stone\n"},
        ),
        Case(
            "An example among the candidates",
            "metatne predict model -p 'anna stone' --candidates ask.txt",
            "Leave the examples out of the nodes to rank.",
            files={"ask.txt": "anna stone\nbela stone\n"},
        ),
        Case(
            "A model of another graph",
            "metatne predict model -p 'anna stone' --graph hamlet",
            "A model knows the nodes and labels of the graph that it was trained on, and `--graph` "
            "makes sure of it. Give that graph, or train a model on this one.",
        ),
        Case(
            "A truncated model file",
            "metatne predict cut -p 'anna stone'",
            "The file was damaged after it was written, most often by a copy that was cut short.",
        ),
        Case(
            "A directory that is not a model",
            "metatne predict village -p 'anna stone'",
            "MODEL is the directory that was given to `metatne train` as `--out`.",
        ),
        Case(
            "An output that cannot be written",
            "metatne predict model -p 'anna stone' --output ranking.xlsx",
            "The ending of the file chooses the format.",
        ),
    ]


def _evaluating() -> list[Case]:
    return [
        Case(
            "Trials that are none",
            "metatne evaluate village --trials 5-1 --out results.jsonl",
            "Trials are numbered from 1.",
        ),
        Case(
            "A file of results that is something else",
            "metatne evaluate village --out notes.txt",
            "Name a file that `metatne evaluate` wrote, to go on with it, or one that does not "
            "exist.",
            files={"notes.txt": "buy milk\n"},
        ),
    ]
