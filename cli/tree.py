"""The mechanism of the command line: groups whose modules are imported when they are used, and options made from
records.

A module of commands has a `Commands`; `cli.main.ROOT` lists the modules. The help of a group and of a top-level command
is in that list, because the root's help imports no module; all other help is the docstring of the command's
function."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TextIO

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import OptionInfo

from core.errors import Interrupted, RunFailed, UsageError
from core.options import TUNING

ADVANCED = "Advanced"

standard_output: ContextVar[TextIO | None] = ContextVar(
    "standard_output", default=None
)  # while --output-file redirects it


def _option_of_all(name: str, kind: Any, default: Any, *names: str, **more: Any) -> inspect.Parameter:
    option = Annotated[kind, typer.Option(*names, **more)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)


# Of every command that prints a document: `cli.context` has their values, `Command.invoke` redirects the output.
_OUTPUT = (
    _option_of_all(
        "output",
        Literal["table", "json", "jsonl", "csv"],
        "table",
        *("--output", "-o"),
        help="Select the output format: a table, a JSON document, one line of JSON per row, or CSV.",
    ),
    _option_of_all(
        "output_file",
        Path | None,
        None,
        "--output-file",
        metavar="FILE",
        help="Write the output to FILE instead of standard output.",
    ),
    _option_of_all(
        "csv_raw",
        bool,
        False,
        "--csv-raw",
        help="With -o csv: do not put an apostrophe before values that a spreadsheet would execute.",
    ),
)


class Command(TyperCommand):
    """A command whose help has a section for tuning options, and whose output can go to a file."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options, advanced options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], ADVANCED: []}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                title = "Arguments" if param.param_type_name == "argument" else "Options"
                sections[ADVANCED if title == "Options" and param.name in TUNING else title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; with --output-file, standard output is that file."""
        if ctx.params.get("csv_raw") and ctx.params["output"] != "csv":
            raise UsageError("--csv-raw requires -o csv", field="csv_raw")
        if (file := ctx.params.get("output_file")) is None:
            return super().invoke(ctx)
        with _written(Path(file)):
            return super().invoke(ctx)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    """Redirect standard output to `path`, which is replaced as a whole at the end unless it is a device, a pipe or a
    link. Raises UsageError before anything is started."""
    writable_file(path, "--output-file")
    whole = not path.is_symlink() and (path.is_file() or not path.exists())
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp") if whole else path
    try:
        outside = standard_output.set(sys.stdout)
        try:
            with draft.open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
                yield
        finally:
            standard_output.reset(outside)
    except (RunFailed, Interrupted):
        if whole and draft.stat().st_size:  # the run failed, its result was written
            draft.replace(path)
        raise
    except OSError as error:
        if error.filename in (None, str(draft)):
            raise RunFailed(f"cannot write {path}: {error.strerror or error}; choose another --output-file") from error
        raise
    else:
        if whole:
            draft.replace(path)
    finally:
        if whole:
            draft.unlink(missing_ok=True)


def writable_file(path: Path | None, option: str) -> None:
    """Raise UsageError, before the work starts, if `path` cannot become a file."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option} {path} is a directory; give a file name")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {path}: its directory does not exist; create it first")


class Registered(NamedTuple):
    """The function of a command, and the parameters from which its options are made."""

    name: str
    function: Callable[..., Any]
    example: str
    types: tuple[str, ...]
    only: Mapping[str, Collection[str]]
    document: bool = True  # whether it prints one, in any format

    @property
    def help(self) -> str:
        """The first paragraph of the docstring, in one line."""
        return " ".join(inspect.cleandoc(self.function.__doc__ or "").partition("\n\n")[0].split())

    def load(self, summary: str = "") -> Any:
        """The command; `summary` precedes the function's docstring."""
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        text = inspect.cleandoc(self.function.__doc__ or "")
        app.command(
            self.name,
            cls=Command,
            help=f"{summary}\n\n{text}" if summary else text,
            epilog=f"Example: {self.example}",
        )(taking(self.function, resolved(self.types), self.only, _OUTPUT if self.document else ()))
        command = get_command(app)
        for option in command.params:
            option.callback = option.callback or _refuse_no_number
        return command


class Commands:
    """The commands of a module, in the order of its help."""

    def __init__(self) -> None:
        self.entries: dict[str, Registered] = {}

    def add(
        self, name: str, example: str, *types: str, document: bool = True, **only: Collection[str]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function. `types`: records (`module:Name`) that its annotations name and that are imported when the
        command is used; `document`: False for a command that runs until Ctrl-C and has no result; `only`: fields of such a
        parameter that become options."""

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            self.entries[name] = Registered(name, function, example, types, only, document)
            return function

        return registered


class Entry(NamedTuple):
    """A group, or a top-level command if `group` is False, and its modules."""

    name: str
    help: str
    modules: tuple[str, ...]
    group: bool = True

    def load(self) -> Any:
        """Import the modules."""
        found = {
            name: command for module in self.modules for name, command in import_module(module).commands.entries.items()
        }
        return Group(self.name, self.help, found) if self.group else found[self.name].load(self.help)


class Group(TyperGroup):
    """A group that loads a command when it is used, and lists the help of all of them without loading any."""

    def __init__(self, name: str, summary: str, entries: Mapping[str, Entry | Registered], **more: Any) -> None:
        super().__init__(name=name, help=summary, commands={}, rich_markup_mode=None, **more)
        self.commands = dict(entries)  # type: ignore[arg-type]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command or group of this name; None if there is none."""
        entry = self.commands.get(cmd_name)
        return None if entry is None else entry.load()  # type: ignore[attr-defined]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help."""
        return super().parse_args(ctx, args or ["--help"])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its whole line of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.commands.items()])


def resolved(types: tuple[str, ...]) -> dict[str, Any]:
    """The records of `Commands.add`, imported."""
    pairs = (one.partition(":") for one in types)
    return {name: getattr(import_module(module), name) for module, _, name in pairs}


def _refuse_no_number(_ctx: object, option: Any, value: Any) -> Any:
    """Refuse `nan`, which passes every range check, and infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{option.opts[0]} is {value}; give a finite number", field=option.name)
    return value


def taking(
    function: Callable[..., Any],
    types: Mapping[str, Any],
    only: Mapping[str, Collection[str]],
    more: Sequence[inspect.Parameter] = (),
) -> Callable[..., Any]:
    """Return the function with an option for each field of its parameters that are documents; `only`: for some
    parameters the fields that become options, the others keep their default. If the document refuses a value, it is a
    UsageError that names the option. `more`: options that the function does not get."""
    own = inspect.signature(function, eval_str=True, locals=dict(types)).parameters
    parts = {name: list(_options(p.annotation, only.get(name))) for name, p in own.items()}

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        for option in more:
            given.pop(option.name, None)
        whole = {
            name: _made(own[name].annotation, {option.name: given.pop(option.name) for option in options})
            for name, options in parts.items()
            if options
        }
        return function(**given, **whole)

    everything = [one for name, p in own.items() for one in parts[name] or [p.replace(kind=p.KEYWORD_ONLY)]]
    command.__signature__ = inspect.Signature([*everything, *more])  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _options(kind: Any, only: Collection[str] | None) -> Iterator[inspect.Parameter]:
    """The options for one parameter; none if it is an option itself."""
    if not (isinstance(kind, type) and hasattr(kind, "model_fields")):
        return
    for name, info in kind.model_fields.items():
        if only is None or name in only:
            default = inspect.Parameter.empty if info.is_required() else info.default
            yield inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[info.annotation, _option(name, info)],
            )


def _made(kind: Any, given: dict[str, Any]) -> Any:
    """Make the record from options. The model checks the values, as those of the API; the bounds in the options are for
    the help."""
    from pydantic import ValidationError  # imported already with a document

    from core.document import complaint

    try:
        return kind(**given)
    except ValidationError as error:
        name, why = complaint(error)
        raise UsageError(f"--{name.replace('_', '-')}: {why}" if name else why, field=name) from error


def _option(name: str, info: Any) -> Any:
    given = next((each for each in info.metadata if isinstance(each, OptionInfo)), None)
    if given is not None:  # a command's own field
        return given
    from core.document import bounds

    of = bounds(info)
    return typer.Option(
        f"--{name.replace('_', '-')}",
        help=info.description,
        min=of.get("ge"),
        max=of.get("le"),
        metavar=next((each.metavar for each in info.metadata if hasattr(each, "metavar")), None),
    )
