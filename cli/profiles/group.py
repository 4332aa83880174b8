"""`edbench profile`: two kinds of profiles under one name each, a corpus to be made and a workload to be run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.context import shared
from cli.corpus.profile import corpus_rows, describe_corpus, is_corpus
from cli.options import AsJson
from cli.output import bytes_text, flush, print_json
from cli.profiles import ALL
from cli.show.table import table
from core.errors import UsageError
from core.options.bounds import MOST_SCALE


def describe(
    ctx: typer.Context,
    profile: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="a profile, or a corpus profile of your own in TOML")
    ],
    scale: Annotated[
        float | None, typer.Option(min=0.0, max=MOST_SCALE, help="of a corpus: 1.0 is the whole of it")
    ] = None,
    path: Annotated[
        list[Path] | None, typer.Option(help="of a workload: for so many paths is told how much it needs")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="of a workload; repeatable")
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="of a workload: settings of seconds and megabytes")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what a corpus profile would make at a scale, or what a workload profile does, writes and needs."""
    if not (path or setting or small) and is_corpus(profile):  # the workloads, which are slow to come, are not asked
        describe_corpus(ctx, profile, 1.0 if scale is None else scale, as_json)
        return
    from experiments.profiles.catalogue import profiles

    if profile == ALL:
        _describe_all(ctx, path or [], small=small)
        return
    if profile not in profiles():
        if path or setting or small:
            raise UsageError(f"--path, --set and --small are of profiles that are run: {', '.join(profiles())}")
        describe_corpus(ctx, profile, 1.0 if scale is None else scale, as_json)
        return
    if scale is not None:
        raise UsageError(f"--scale is of corpora; {profile} is run, and its settings are --set")
    said = _described(profile, path or [], setting or [], small=small)
    if as_json:
        print_json(said)
        return
    console = shared(ctx).out
    report = f", as report {said['report']} did" if said["report"] else ""
    console.print(f"{said['name']}: a workload{report}", markup=False)
    for word in ("does", "writes", "needs"):
        console.print(f"{word}: {said[word]}", markup=False, soft_wrap=True)
    room = said["room"]
    console.print(
        f"room: {bytes_text(room['bytes'])} and {room['files']:,} files on each path; about {room['seconds'] / 60:,.0f} min for each"
        " repeat, as much again for pairs on null storage at most",
        markup=False,
        soft_wrap=True,
    )
    console.print()
    console.print(
        table(("setting", "here", "what it is"), [(s["name"], s["value"], s["about"]) for s in said["settings"]])
    )
    flush()


def _describe_all(ctx: typer.Context, paths: list[Path], *, small: bool) -> None:
    from experiments.profiles.catalogue import profiles

    rooms = [(name, _described(name, paths, [], small=small)["room"]) for name in profiles()]
    rows = [(name, bytes_text(room["bytes"]), f"{room['seconds'] / 60:,.0f}") for name, room in rooms]
    whole = (
        "together",
        bytes_text(max(room["bytes"] for _, room in rooms)),
        f"{sum(r['seconds'] for _, r in rooms) / 60:,.0f}",
    )
    console = shared(ctx).out
    console.print(
        "all: every workload, one after another, and a discovery of a corpus that is made there: one page, a package",
        markup=False,
        soft_wrap=True,
    )
    console.print(table(("profile", "room on each path", "min a repeat"), [*rows, whole], right=(1, 2)))
    flush()


def _described(name: str, paths: list[Path], given: list[str], *, small: bool) -> dict[str, Any]:
    from experiments.profiles.catalogue import profile_named, settings_of
    from experiments.profiles.profile import Targets

    kind = profile_named(name)
    settings = settings_of(kind, given, small=small)
    made = kind(settings, Targets(paths=tuple(paths) or ((Path(),) if kind.takes_paths else ())))
    room, values = made.room(), settings.model_dump(mode="json")
    return {
        "name": kind.name,
        "kind": "workload",
        "report": kind.report,
        "does": kind.does,
        "writes": kind.writes,
        "needs": kind.needs,
        "room": {"bytes": room.bytes, "files": room.files, "seconds": room.seconds},
        "settings": [
            {"name": key, "value": _plain(values[key]), "about": field.description or ""}
            for key, field in kind.settings_type.model_fields.items()
        ],
    }


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def listed(ctx: typer.Context) -> None:
    """List the profiles that come with edbench: corpora, which `generate` makes, and workloads, which `profile run` runs."""
    from experiments.profiles.catalogue import profiles

    rows = [(name, "corpus", f"{raw} raw at scale 1: {about}") for name, raw, about in corpus_rows()]
    rows += [
        (name, "workload", f"{kind.report and f'{kind.report}: '}{kind.does}") for name, kind in profiles().items()
    ]
    rows.append((ALL, "workload", "every workload, and a discovery: one page"))
    shared(ctx).out.print(table(("profile", "kind", "what it is"), rows, whole=(0, 1)))
    flush()


def profile_app() -> typer.Typer:
    """The group of commands, but for `run`, which brings what storage is tested with (cli.commands)."""
    app = typer.Typer(
        rich_markup_mode=None, help="Show what corpora can be made of; run storage tests of reports R2 to R5."
    )
    app.command("list", epilog="Example: edbench profile list")(listed)
    app.command("describe", epilog="Example: edbench profile describe reference --scale 0.01")(describe)
    return app
