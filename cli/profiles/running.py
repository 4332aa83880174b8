"""What `edbench profile run` does: the profile refused or carried out, and shown."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from cli.answering import await_answer
from cli.beside import profile_shown
from cli.context import CommandContext
from cli.output import flush, write_json
from cli.show.study import show_study, show_warnings
from controller.jobs.rates import duration
from core.errors import Interrupted
from core.settings import Settings
from experiments.package.finish import finish
from experiments.profiles.catalogue import made
from experiments.profiles.profile import Profile, Targets
from experiments.profiles.refusal import refuse_filer, refuse_room
from experiments.profiles.study import ProfileStudy
from experiments.result.codec import to_json
from experiments.result.schema import Result
from experiments.result.steady import MIN_SECONDS
from experiments.study import conduct, new_id
from experiments.unfinished import begun

__all__ = ["Targets", "Wish", "carry_out", "made"]

_PLAIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for beside the profile and its settings."""

    repeats: int
    seed: int
    min_seconds: float | None = None
    yes: bool = False
    resume: bool = False
    json_file: Path | None = None
    serve_port: int | None = None  # of the page beside it; None: there is none


def carry_out(context: CommandContext, settings: Settings, profile: Profile[Any], wish: Wish) -> None:
    """Run it and print the result; the report's path is the last line. Raises UsageError before anything is written."""
    result, directory = studied(context, settings, profile, wish)
    show_study(context.out, result)
    show_warnings(context.out, result)
    if wish.json_file is not None:
        write_json(wish.json_file, to_json(result))
    page = finish(result, directory)
    flush()
    print(page)


def studied(context: CommandContext, settings: Settings, profile: Profile[Any], wish: Wish) -> tuple[Result, Path]:
    """Raises what `conduct` does."""
    await_answer(*profile.targets.paths)
    profile.check()
    refuse_filer(profile, settings.filer)
    refuse_room(profile, yes=wish.yes)
    least = wish.min_seconds or profile.least_seconds or MIN_SECONDS
    now = context.clock.now()
    run_id = new_id(profile.name, now)
    with begun(
        below(settings),
        asked(profile, wish, settings.filer),
        run_id=run_id,
        seed=wish.seed,
        now=now,
        resume=wish.resume,
    ) as study:
        kind = profile.kind(wish.repeats, study.seed)
        with (
            live_line(context.err) as tell,
            profile_shown(context, profile, settings, wish.serve_port) as live,
        ):
            shown = ProfileStudy(profile, settings, context.clock, context.say, tell, study.sessions, live)
            try:
                return conduct(shown, kind, least, study)
            except KeyboardInterrupt as error:
                raise Interrupted(
                    "what was written there is removed; the same command with --resume goes on"
                ) from error


def below(settings: Settings) -> Path:
    """Where studies that have begun lie."""
    return settings.scratch / "profiles" / "begun"


def asked(profile: Profile[Any], wish: Wish, filer: str) -> dict[str, Any]:
    """Everything that must be the same for a study to be gone on with."""
    return {
        "edbench": version("edbench"),
        "profile": profile.name,
        "settings": profile.settings.model_dump(mode="json"),
        "paths": [str(path) for path in profile.targets.paths],
        "s3": profile.targets.s3,
        "filer": filer,
        "repeats": wish.repeats,
    }


@contextlib.contextmanager
def live_line(console: Console) -> Iterator[Callable[[str], None]]:
    """What goes on and for how long: one line that lives on a terminal, one every five seconds elsewhere."""
    began, doing, said = time.monotonic(), "", 0.0

    def text() -> str:
        return f"{doing}, {duration(time.monotonic() - began)}"

    if console.is_terminal:
        with console.status("") as status:

            def live(line: str) -> None:
                nonlocal began, doing
                if line and line != doing:
                    began, doing = time.monotonic(), line
                status.update(text())

            yield live
        return

    def plain(line: str) -> None:
        nonlocal began, doing, said
        if line and line != doing:
            began, doing = time.monotonic(), line
        if time.monotonic() - max(said, began) >= _PLAIN_SECONDS:
            said = time.monotonic()
            console.print(text(), markup=False)

    yield plain
