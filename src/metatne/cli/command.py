"""What all commands share: help in sections, and errors turned into exit codes."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from metatne.cli.console import fail
from metatne.errors import InputError, MetaTNEError

FAILED, MISTAKE = 1, 2
"""Exit codes; a run that ends well has 0."""

_MISTAKES = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


def new_app(**settings: Any) -> typer.Typer:
    """A Typer without commands yet, with what all of ours have in common."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


class Command(TyperCommand):
    """A command that ends with a message and an exit code, never with a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; of one that is refused, say what was expected and what came."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # Now, since a command without a mistake need not wait for them.
            from pydantic import ValidationError

            from metatne.config import expected_and_found

            if isinstance(error.__cause__, ValidationError):
                problem = error.__cause__.errors()[0]
                error.message = expected_and_found(problem["msg"], problem["input"])
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command: 1 for a failed run, 2 for a user's mistake."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever read the output has seen enough; Typer ends quietly
        except (MetaTNEError, OSError) as error:
            fail(describe(error))
            is_mistake = isinstance(error, (InputError, *_MISTAKES))
            raise typer.Exit(MISTAKE if is_mistake else FAILED) from error
        except UnicodeEncodeError as error:  # of a path, as a shell may hand it over
            fail(f"expected names in UTF-8, found {error.object!r}")
            raise typer.Exit(MISTAKE) from error
        except MemoryError as error:
            fail(f"out of memory: {error}".rstrip(": "))
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            fail("interrupted")
            raise typer.Exit(FAILED) from error

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What has to be given first, then what may be given."""
        required = sections(self.get_params(ctx)).get(REQUIRED, [])
        names = (self._name(param, ctx) for param in required)
        return [*names, "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The parameters in their sections."""
        for title, params in sections(self.get_params(ctx)).items():
            with formatter.section(title):
                formatter.write_dl([self.entry(param, ctx) for param in params])

    def entry(self, param: Any, ctx: Any) -> tuple[str, str]:
        """How the help names a parameter, and what it says about it."""
        _, text = param.get_help_record(ctx)
        return self._name(param, ctx), text.replace("[required]", "").rstrip()

    @staticmethod
    def _name(param: Any, ctx: Any) -> str:
        is_argument = param.param_type_name == "argument"
        return str(param.metavar if is_argument else param.get_help_record(ctx)[0])


REQUIRED, COMMON = "Required", "Options"


def sections(params: list[Any]) -> dict[str, list[Any]]:
    """Parameters by the section of the help that they belong to, in order."""
    found: dict[str, list[Any]] = {REQUIRED: []}
    for param in params:
        panel = getattr(param, "rich_help_panel", None)
        found.setdefault(REQUIRED if param.required else panel or COMMON, []).append(param)
    found[COMMON] = found.pop(COMMON, [])  # they go last
    return {title: members for title, members in found.items() if members}


def describe(error: Exception) -> str:
    """What went wrong, for a person: of the system's errors the file and the reason."""
    if not isinstance(error, OSError):
        return str(error)
    place = error.filename2 or error.filename
    reason = error.strerror or str(error)
    return f"{place}: {reason}" if place else reason
