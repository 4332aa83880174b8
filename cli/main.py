"""`edbench`: the command tree, and the exit status of each ending."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from cli.tree import Entry, Group
from core.errors import BoundsBroken, EdbenchError, Interrupted, UsageError
from core.extensions import extensions
from core.program import missing_extra, without_logins

OK, FAILED, USAGE, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130

# The commands of daily work first, then the groups in the order of the work. Packages add modules to them (core.extensions).
ROOT = (
    Entry("discover", "Run a discovery job over a directory and wait for its end.", ("cli.discover",), group=False),
    Entry("verify", "Compare a completed job with its manifest.", ("cli.verify",), group=False),
    Entry("serve", "Serve the web UI and the HTTP API until Ctrl-C.", ("cli.serve",), group=False),
    Entry("token", "Print a link that signs in to the web UI of containers.", ("cli.token",), group=False),
    Entry("doctor", "Check this host, its storage and the services.", ("cli.doctor",), group=False),
    Entry("inspect", "Unpack files without a database and show every item.", ("cli.inspect",), group=False),
    Entry("formats", "List the supported formats and what is extracted.", ("cli.formats",), group=False),
    Entry("corpus", "Generate, check and describe test corpora.", ("cli.corpus",)),
    Entry("job", "List, show and control jobs; print their chain of custody.", ("cli.job",)),
    Entry("review", "Search, list, tag and analyse the items of jobs.", ("cli.review",)),
    Entry("produce", "Write text, page images and productions; check and import them.", ()),
    Entry("bench", "Measure storage and plan measurements.", ("cli.bench", "cli.day", "cli.plan")),
    Entry("simulate", "Simulate a discovery on a described site in virtual time.", (), group=False),
    Entry("trace", "Record, replay, show and convert traces of storage calls.", ("cli.trace",)),
    Entry("result", "Check, describe, sign and compare result packages.", ("cli.result",)),
    Entry("counters", "Collect the counters of a filer and import them into a job.", ("cli.counters",)),
    Entry("storage", "List and remove directories that are in no database.", ("cli.leftovers",)),
    Entry("scale", "Start or stop worker containers on this host.", ("cli.scale",), group=False),
    Entry("worker", "Run workers on this host for a system.", ("cli.worker",), group=False),
)


def commands() -> list[Entry]:
    """The entries with the modules of packages, without entries that have none."""
    more = extensions("edbench.commands")
    every = (entry._replace(modules=(*entry.modules, *more.get(entry.name, ()))) for entry in ROOT)
    return [entry for entry in every if entry.modules]


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


def make_app() -> Group:
    """The application; the modules of a command are imported when it is used."""
    app = typer.Typer(name="edbench", rich_markup_mode=None)
    app.callback()(_root)
    typed = get_command(app)  # has the options of shell completion
    return Group(
        "edbench",
        typed.help or "",
        {entry.name: entry for entry in commands()},
        params=typed.params,
        callback=typed.callback,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="Settings are EDBENCH_* environment variables. Help with an example: edbench COMMAND --help.",
    )


def main(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one command; return its exit status: 0, 1 failed run, 2 usage, 3 a bound of --fail-if broken, 130
    interrupted. Errors are one line on stderr."""
    debug = env.get("EDBENCH_DEBUG", "") not in ("", "0")
    try:
        status = make_app()(args=list(argv), prog_name="edbench", obj=env, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe: the interpreter's last flush of standard output must raise no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 — of a bug of ours, too, the user gets one line
        return _failed(error, debug)
    if status == INTERRUPTED:
        return _failed(KeyboardInterrupt(), debug)
    return status if isinstance(status, int) else OK


def _failed(error: BaseException, debug: bool) -> int:
    """Print the error without the logins of URLs: the line goes into logs and support requests."""
    if debug:
        print(without_logins("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    line, status = _meaning(error)
    print(f"edbench: {without_logins(' '.join(line.split()))}", file=sys.stderr)
    return status


def _meaning(error: BaseException) -> tuple[str, int]:
    """The message of an error, and the exit status."""
    if isinstance(error, Interrupted):
        return f"interrupted: {error}", INTERRUPTED
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, EdbenchError):
        usage, broken = isinstance(error, UsageError), isinstance(error, BoundsBroken)
        return str(error), USAGE if usage else BROKEN if broken else FAILED
    if isinstance(error, TyperException):
        message = error.format_message().rstrip(".")
        return f"{message}{'' if message.endswith('?') else '.'} Try '{_command_of(error)} --help'.", error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", FAILED
    if isinstance(error, ModuleNotFoundError) and (need := missing_extra(error)):
        return need, FAILED
    return f"internal error: {type(error).__name__}: {error}; set EDBENCH_DEBUG=1 for a traceback", FAILED


def _command_of(error: Any) -> str:
    """The command whose arguments are wrong, as it is typed."""
    context = getattr(error, "ctx", None)
    if context is None:
        return "edbench"
    names = []
    while context is not None:  # `command_path` has the metavars of arguments too
        names.append(str(context.info_name))
        context = context.parent
    return " ".join(reversed(names))


def _terminated(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def run() -> int:
    """Run this process's command; return its exit status. SIGTERM and SIGHUP end it as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _terminated)
    return main(sys.argv[1:], os.environ)
