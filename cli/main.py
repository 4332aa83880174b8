"""`edbench`: the commands, and what their endings mean to the shell."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_group

from cli.commands import COMMANDS
from cli.on_demand import CommandOnDemand
from core.errors import EdbenchError, Interrupted, UsageError
from core.program.urls import without_logins

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # it imports a parser of mail, which no command needs

        print(f"edbench {version('edbench')}")
        raise typer.Exit


def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A distributed e-discovery processing pipeline that doubles as a benchmark of the storage under it."""


def make_app() -> TyperGroup:
    """The application with all commands; none is imported before it is used."""
    app = typer.Typer(
        name="edbench",
        add_completion=False,
        rich_markup_mode=None,
        epilog="Settings come from EDBENCH_* variables; `edbench COMMAND --help` has an example of each command.",
    )
    app.callback()(_root)
    group = get_group(app)
    for entry in COMMANDS:
        group.add_command(CommandOnDemand(entry))
    return group


def main(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one command; its exit status: 0, 1 failed run, 2 usage, 130 interrupted. Errors are one line on stderr."""
    debug = env.get("EDBENCH_DEBUG", "") not in ("", "0")
    try:
        status = make_app()(args=list(argv) or ["--help"], obj=env, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return FAILED
    except (EdbenchError, TyperException, KeyboardInterrupt, OSError) as error:
        return _failed(error, debug)
    except Exception as error:  # noqa: BLE001 — a bug of ours: the person gets one line and the way to the rest
        return _failed(error, debug)
    if status == INTERRUPTED:
        return _failed(KeyboardInterrupt(), debug)
    return status if isinstance(status, int) else OK


def _failed(error: BaseException, debug: bool) -> int:
    """Say it, whatever a URL in it had as its login: what is said stands in logs, and is sent to who is to help."""
    if debug:
        print(without_logins("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    line, status = _meaning(error)
    print(f"edbench: {without_logins(' '.join(line.split()))}", file=sys.stderr)
    return status


def _meaning(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit status."""
    if isinstance(error, UsageError):
        return str(error), USAGE
    if isinstance(error, Interrupted):
        return f"interrupted: {error}", INTERRUPTED
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, EdbenchError):
        return str(error), FAILED
    if isinstance(error, TyperException):
        return f"{error.format_message()} Try `edbench --help`.", error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", FAILED
    return f"a bug: {type(error).__name__}: {error}; EDBENCH_DEBUG=1 shows where", FAILED


def _forget_stdout() -> None:
    """The reader went away: have the interpreter's last flush go nowhere instead of complaining."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _terminated(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def run() -> int:
    """This process's own command; its exit status. SIGTERM and SIGHUP end it as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _terminated)
    return main(sys.argv[1:], os.environ)
