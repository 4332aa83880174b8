"""`edbench profile run all`: every profile that takes paths, and a discovery, to one page."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from cli.context import CommandContext, shared
from cli.output import flush, write_json
from cli.profiles import ALL
from cli.profiles.discovering import DISCOVERY, discovered, refuse_corpus
from cli.profiles.running import Targets, Wish, asked, below, studied
from core.errors import RunFailed, StorageFault, UsageError
from core.settings import Settings
from experiments.package.finish import finish
from experiments.package.records import RESULTS
from experiments.package.take import doubt, unsealed
from experiments.profiles.catalogue import profiles, settings_of
from experiments.profiles.profile import Profile
from experiments.profiles.refusal import refuse_filer, refuse_room, refuse_targets
from experiments.study import new_id
from experiments.summary import package
from experiments.summary.page import verdict
from experiments.summary.rows import row_of
from experiments.summary.schema import PACKAGES, Entry, Summary, results_of
from experiments.unfinished import begun, was_begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovering:
    """Where the discovery of the page comes from."""

    package: Path | None  # made before; None: one is made
    scale: float
    workers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """One of them: made into a package, or why that cannot be."""

    name: str
    report: str
    why_not: str | None = None
    run: Callable[[Path], None]  # puts its package there


def run_all(
    ctx: typer.Context, settings: Settings, targets: Targets, given: Sequence[str], wish: Wish, discovering: Discovering,
    *, small: bool,
) -> None:  # fmt: skip
    """Raises UsageError where nothing can be run as asked, RunFailed at the end where a test failed that could be run."""
    context = shared(ctx)
    if targets.s3 or not targets.paths:
        raise UsageError("profile run all works on paths: --path DIR")
    if missing := [path for path in targets.paths if not path.is_dir()]:
        raise UsageError(f"{missing[0]} is no directory; make it, or mount what is to be tested there")
    others = _profiles(context, settings, targets, given, wish, small=small)
    tests = [_discovery(ctx, settings, targets, wish, discovering), *others]
    for test in tests:
        if test.why_not is not None:
            context.say(f"{test.name} is not measured: {test.why_not}")
    paths, now = tuple(str(path) for path in targets.paths), context.clock.now()
    key = {"edbench": version("edbench"), "profile": ALL, "paths": paths, "given": sorted(given), "small": small,
           "repeats": wish.repeats, "filer": settings.filer, "discovery": str(discovering)}  # fmt: skip
    with begun(below(settings), key, run_id=new_id(ALL, now), seed=wish.seed, now=now, resume=wish.resume) as study:
        directory = settings.storage / RESULTS / study.run_id
        failed = _carried_out(context, tests, directory)
        summary = Summary(
            run_id=study.run_id, created=now, edbench=version("edbench"), paths=paths, entries=_entries(tests, failed)
        )
        page = package.finish(summary, directory)
    _show(context, summary, directory, wish)
    print(page)
    if failed:
        raise RunFailed(f"not measured: {', '.join(failed)}")


def _entries(tests: Sequence[_Test], failed: Mapping[str, str]) -> tuple[Entry, ...]:
    """Raises RunFailed where there is nothing to show."""
    why_not = {test.name: test.why_not or failed.get(test.name) for test in tests}
    if all(why_not.values()):
        raise RunFailed(f"nothing could be measured: {next(iter(why_not.values()))}")
    return tuple(Entry(name=test.name, report=test.report, why_not=why_not[test.name]) for test in tests)


def _carried_out(context: CommandContext, tests: Sequence[_Test], directory: Path) -> dict[str, str]:
    """All that can be, one after another; those that failed, with why. What an interrupted command finished is kept."""
    failed = {}
    (directory / PACKAGES).mkdir(parents=True, exist_ok=True)
    for test in tests:
        there = directory / PACKAGES / test.name
        if test.why_not is not None or (there.is_dir() and unsealed(there) is None):
            continue
        shutil.rmtree(there, ignore_errors=True)
        context.say(f"{test.name} begins")
        try:
            test.run(there)
        except (RunFailed, StorageFault, UsageError) as error:
            context.say(f"{test.name} failed: {error}")
            failed[test.name] = str(error)
    return failed


def _profiles(
    context: CommandContext, settings: Settings, targets: Targets, given: Sequence[str], wish: Wish, *, small: bool
) -> list[_Test]:
    """Each with its own of the settings; one that lacks something says so before anything is run."""
    own = _own_settings(given)
    out = []
    for name, kind in profiles().items():
        there, why_not = targets if kind.takes_paths else Targets(), None
        profile = kind(settings_of(kind, own.get(name, ()), small=small), there)
        try:
            refuse_targets(kind, there)
            profile.check()
            refuse_filer(profile, settings.filer)
            refuse_room(profile, yes=wish.yes)
        except (StorageFault, UsageError) as error:
            why_not = str(error)
        out.append(_Test(name=name, report=kind.report, why_not=why_not, run=_runner(context, settings, profile, wish)))
    return out


def _runner(context: CommandContext, settings: Settings, profile: Profile[Any], wish: Wish) -> Callable[[Path], None]:
    def run(there: Path) -> None:
        again = wish.resume and was_begun(below(settings), asked(profile, wish, settings.filer))
        result, directory = studied(context, settings, profile, dataclasses.replace(wish, resume=again))
        finish(result, directory)
        directory.rename(there)

    return run


def _own_settings(given: Sequence[str]) -> dict[str, list[str]]:
    """`block-8k.seconds=60` by profile; raises UsageError."""
    out: dict[str, list[str]] = {}
    for one in given:
        name, sign, rest = one.partition(".")
        if not sign or name not in profiles():
            raise UsageError(f"--set {one}: of all profiles a setting is written NAME.SETTING=VALUE")
        out.setdefault(name, []).append(rest)
    return out


def _discovery(ctx: typer.Context, settings: Settings, targets: Targets, wish: Wish, discovering: Discovering) -> _Test:
    """Made here, or one that was made before and checks."""
    given = discovering.package

    def run(there: Path) -> None:
        if given is not None:
            shutil.copytree(given, there, copy_function=shutil.copyfile)
            return
        discovered(ctx, settings, targets.paths[0], there, wish, scale=discovering.scale, workers=discovering.workers)

    why_not = None
    if given is not None and (why := doubt(given)) is not None:
        raise UsageError(f"--discovery: {why}")
    if given is None:
        try:
            refuse_corpus(targets.paths[0], discovering.scale, yes=wish.yes)
        except UsageError as error:
            why_not = str(error)
    return _Test(name=DISCOVERY, report="R1", why_not=why_not, run=run)


def _show(context: CommandContext, summary: Summary, directory: Path, wish: Wish) -> None:
    """A line for each test."""
    results = results_of(directory, summary)
    context.out.print(verdict(summary, results), markup=False, soft_wrap=True)
    told: list[dict[str, Any]] = []
    for entry in summary.entries:
        if entry.why_not is not None:
            told.append({"name": entry.name, "why_not": entry.why_not})
            line = f"not measured: {entry.why_not}"
        else:
            row = row_of(results[entry.name])
            told.append({"name": entry.name, **dataclasses.asdict(row)})
            line = f"{row.headline}; limit: {row.limit}{row.labels and '; '}{', '.join(row.labels)}"
        context.out.print(f"  {entry.name}: {line}", markup=False, soft_wrap=True)
    if wish.json_file is not None:
        write_json(wish.json_file, {"run_id": summary.run_id, "paths": summary.paths, "tests": told})
    flush()
