"""`edbench bench storage`: the storage tests of reports R2 to R5, one at a time or all to one page."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.bench import Study, carry_out, print_result
from cli.context import CommandContext, shared
from cli.experiment import Experiment
from cli.output import await_answer, bytes_text, flush, print_lines, table
from cli.tree import Commands
from controller.jobs.orders import DiscoveryOrder
from core import texts
from core.document import Order
from core.errors import Interrupted, RunFailed, StorageFault, UsageError
from core.options import MOST_SCALE
from experiments.result.steady import MIN_SECONDS
from storage_tests.orders import ProfileOrder

if TYPE_CHECKING:
    from core.settings import Settings
    from experiments.result.schema import Result
    from experiments.summary import Summary
    from storage_tests.live import Live
    from storage_tests.profile import Profile, Targets

commands = Commands()

ALL = "all"  # every test, and a discovery
DISCOVERY = "discovery"
_CORPUS_PROFILE, _SEED = "reference", 1
_RAW, _FILES = 45e9, 1_000_000  # of that profile at scale 1
_TIMES = 4  # times its size: corpus, extracted children, indexes


class Where(Order):
    """Storage to test, and the settings of the test."""

    path: Annotated[list[Path] | None, typer.Option("--path", metavar="DIR", help=texts.PATH)] = None
    s3: Annotated[
        str | None,
        typer.Option(
            "--s3", metavar="URL", help="Test s3://BUCKET/PREFIX; endpoint and credentials are in AWS_* variables."
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting that --describe lists; repeatable."),
    ] = None
    describe: Annotated[
        bool, typer.Option("--describe", help="Print what the test does, writes and needs, without running it.")
    ] = False


class Test(Experiment, ProfileOrder, Where):
    """The options of the command; in the help, those of the last base come first."""

    discovery: Annotated[
        Path | None,
        typer.Option("--discovery", metavar="PACKAGE", help="With `all`: use this scale-up instead of a new one."),
    ] = None
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            min=0.00001,
            max=MOST_SCALE,
            help=f"{texts.SCALE}  [default: with `all` 0.01, with --small 0.0003]",
        ),
    ] = None
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers",
            metavar="N,N,…",
            help=f"{texts.WORKERS}  [default: with `all` 1,2,4, with --small 1; else 1]",
        ),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the same command after an interruption.")] = False
    storage: opt.StorageRoot = None
    serve: opt.Serve = False
    serve_port: opt.ServePort = opt.PORT

    @property
    def given(self) -> list[str]:
        """The given settings."""
        return self.setting or []

    def numbers(self, usual: str) -> list[int]:
        """Return the numbers of workers. Raises UsageError."""
        return opt.numbers(self.workers or usual, "--workers")


@commands.add("storage", "edbench bench storage stream --path /mnt/filer/empty")
def storage_test(
    ctx: typer.Context,
    *,
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="a storage test, or `all`; omit it to list the tests")
    ] = "",
    test: Test,
) -> None:
    """Run a storage test of reports R2 to R5.

    Without NAME, list the tests; `all` runs every test and a discovery, to one page. The command accepts only empty directories
    and removes what it wrote: also after Ctrl-C, and after kill -9 when the next command starts. With EDBENCH_DATABASES set or
    --listen, the clients of client-sweep and insert-drift run at the connected workers, for which the command waits (--workers). With
    `all`, --scale and --workers are those of the discovery, and --discovery takes a package instead of a new one. The last line is
    the path of the report."""
    context = shared(ctx)
    if not name:
        _list(context)
        return
    if test.describe:
        _describe(context, name, test)
        return
    settings = context.settings(storage=test.storage, filer=test.filer)
    settings = dataclasses.replace(settings, filer_cache=opt.declared_cache(test.filer_cache, settings))
    if test.resume and test.seed is not None:
        raise UsageError("--resume continues in the original order: remove --seed")
    from storage_tests.profile import Targets, made

    targets = Targets(paths=tuple(one.absolute() for one in test.path or ()), s3=test.s3)
    test = test.model_copy(update={"seed": opt.given_seed(test.seed)})
    if name == ALL:
        if test.fail_if or test.junit or test.summary:
            raise UsageError(f"--fail-if, --junit and --summary are for one test, not for `{ALL}`")
        if test.listen is not None:
            raise UsageError(f"--listen: most tests of `{ALL}` run on this host only")
        _run_all(context, settings, targets, test)
        return
    if test.discovery or test.scale is not None:
        raise UsageError(f"--discovery and --scale require the test `{ALL}`")
    profile = made(name, targets, test.given, small=test.small)
    test.begin(profile.ABOUT.titled(profile.plan(test.repeats, test.seed or 0).kind))
    print_result(context, *studied(context, settings, profile, test), test)


def _list(context: CommandContext) -> None:
    from storage_tests.profile import profiles

    found = [{"name": name, "report": kind.report, "does": kind.does} for name, kind in profiles().items()]
    found.append({"name": ALL, "report": "", "does": "all tests and a discovery on one page"})
    if context.document(found):
        return
    rows = [(one["name"], one["report"], one["does"]) for one in found]
    context.out.print(table(("test", "report", "what it does"), rows, whole=(0, 1)))
    flush()


def _describe(context: CommandContext, name: str, test: Test) -> None:
    """Print what a test does, writes and needs."""
    console = context.out
    of = _described(name, test)
    if context.document(of):
        return
    report = f", as report {of['report']} did" if of["report"] else ""
    room = of["room"]
    print_lines(
        console,
        f"{of['name']}: a storage test{report}",
        *(f"{word}: {of[word]}" for word in ("does", "writes", "needs")),
        f"room: {bytes_text(room['bytes'])} and {room['files']:,} files on each path; about "
        f"{room['seconds'] / 60:,.0f} min per repeat, and at most the same again for null baselines",
    )
    console.print()
    console.print(table(("setting", "value", "meaning"), [(s["name"], s["value"], s["about"]) for s in of["settings"]]))
    flush()


def _described(name: str, test: Test) -> dict[str, Any]:
    from storage_tests.profile import Targets, plain, profile_named, settings_of

    kind = profile_named(name)
    settings = settings_of(kind, test.given, small=test.small)
    made = kind(settings, Targets(paths=tuple(test.path or ()) or ((Path(),) if kind.takes_paths else ())))
    room, values = made.room(), settings.model_dump(mode="json")
    return {
        "name": kind.name,
        "report": kind.report,
        "does": kind.does,
        "writes": kind.writes,
        "needs": kind.needs,
        "room": {"bytes": room.bytes, "files": room.files, "seconds": room.seconds},
        "settings": [
            {"name": key, "value": plain(values[key]), "about": field.description or ""}
            for key, field in kind.settings_type.model_fields.items()
        ],
    }


def studied(context: CommandContext, settings: Settings, profile: Profile[Any], test: Test) -> tuple[Result, Path]:
    """Run a test as an experiment. Raises the errors of `conduct`."""
    from cli.progress import live_line
    from experiments.study import begun, conduct, new_id
    from storage_tests.profile import refuse_filer, refuse_room
    from storage_tests.study import ProfileStudy, Running

    await_answer(*profile.targets.paths)
    profile.check()
    refuse_filer(profile, settings.filer)
    refuse_room(profile, fill=test.fill)
    ways, array = test.ways, test.counters(context)
    here = why_here(profile, settings.filer)
    at_members = here is None and not (settings.embedded and ways.listen is None)
    workers = max(test.numbers("1"))
    for option, given in (("--listen", ways.listen is not None), ("--workers", workers > 1)):
        if given and here is not None:
            raise UsageError(f"{option}: the load of {profile.name} runs on this host only: {here}")
    if workers > 1 and not at_members:
        raise UsageError(
            "--workers counts members of a crew; use --listen, or set EDBENCH_DATABASES and EDBENCH_BROKER"
        )
    if here is not None and not settings.embedded:
        context.say(f"the load of {profile.name} runs on this host, not on the connected workers: {here}")
    least = test.min_seconds or profile.least_seconds or MIN_SECONDS
    now = context.clock.now()
    run_id = new_id(profile.name, now)
    with begun(
        below(settings),
        asked(profile, test, settings.filer),
        run_id=run_id,
        seed=test.seed or 0,
        now=now,
        resume=test.resume,
    ) as study:
        plan = profile.plan(test.repeats, study.seed)
        with (
            live_line(context.err) as show,
            _page_during(context, profile, settings, test.serve_port if test.serve else None) as live,
        ):
            run = Running(
                clock=context.clock, say=context.say, show=show, sessions=study.sessions, live=live,
                env=context.env if at_members else None, ways=ways, workers=workers,
            )  # fmt: skip
            shown = ProfileStudy(profile, settings, run)
            try:
                return conduct(shown, plan, least, study, fail_if=test.fail_if or (), array=array)
            except KeyboardInterrupt as error:
                raise Interrupted(
                    "the files that it wrote are removed; continue with the same command and --resume"
                ) from error


def why_here(profile: Profile[Any], filer: str) -> str | None:
    """Return why members of the crew cannot make the load of a test; None if they can."""
    if not profile.emulates:
        return "programs started by this command generate it, and orders to members contain no commands"
    if profile.targets.s3 is not None:
        return "orders to members contain no addresses or credentials of object storage"
    if filer != "none":
        return "all clients of an emulated filer share its arbiter, which is in the memory of one host"
    return None


def below(settings: Settings) -> Path:
    """Return the directory of unfinished experiments."""
    return settings.scratch / "profiles" / "begun"


def asked(profile: Profile[Any], test: Test, filer: str) -> dict[str, Any]:
    """Return everything that must be the same for an experiment to be continued."""
    from importlib.metadata import version

    return {
        "edbench": version("edbench"),
        "profile": profile.name,
        "settings": profile.settings.model_dump(mode="json"),
        "paths": [str(path) for path in profile.targets.paths],
        "s3": profile.targets.s3,
        "filer": filer,
        "repeats": test.repeats,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _One:
    """One of all tests: it writes a package, or has the reason why it cannot run."""

    name: str
    report: str
    why_not: str | None = None
    on_paths: bool  # it tests the given paths
    run: Callable[[Path], None]  # writes its package to a directory


def _run_all(context: CommandContext, settings: Settings, targets: Targets, test: Test) -> None:
    """Run all tests. Raises UsageError if nothing can be run as requested, RunFailed at the end if a test failed."""
    from importlib.metadata import version

    from experiments.package.records import RESULTS
    from experiments.study import begun, new_id
    from experiments.summary import Entry, Summary, finish

    if targets.s3 or not targets.paths:
        raise UsageError("bench storage all requires --path DIR")
    if missing := [path for path in targets.paths if not path.is_dir()]:
        raise UsageError(f"{missing[0]} is not a directory; create it, or mount the storage under test there")
    tests = [_discovery(context, settings, targets, test), *_profiles(context, settings, targets, test)]
    for one in tests:
        if one.why_not is not None:
            context.say(f"{one.name} is not measured: {one.why_not}")
    if all(reasons := [one.why_not for one in tests if one.on_paths]):
        raise UsageError(f"no test can run: {reasons[0]}")
    paths, now = tuple(str(path) for path in targets.paths), context.clock.now()
    key = {"edbench": version("edbench"), "profile": ALL, "paths": paths, "given": sorted(test.given), "small": test.small,
           "repeats": test.repeats, "filer": settings.filer,
           "discovery": f"{test.discovery} {test.scale} {test.workers}"}  # fmt: skip
    with begun(
        below(settings), key, run_id=new_id(ALL, now), seed=test.seed or 0, now=now, resume=test.resume
    ) as study:
        directory = settings.storage / RESULTS / study.run_id
        failed = _carried_out(context, tests, directory)
        why_not = {one.name: one.why_not or failed.get(one.name) for one in tests}
        if all(why_not.values()):
            raise RunFailed(f"no test could run: {next(iter(why_not.values()))}")
        entries = tuple(Entry(name=one.name, report=one.report, why_not=why_not[one.name]) for one in tests)
        summary = Summary(run_id=study.run_id, created=now, edbench=version("edbench"), paths=paths, entries=entries)
        page = finish(summary, directory)
    _show(context, summary, directory)
    context.last_line(str(page))
    if failed:
        raise RunFailed(f"not measured: {', '.join(failed)}")


def _carried_out(context: CommandContext, tests: Sequence[_One], directory: Path) -> dict[str, str]:
    """Run the tests that can run, one after another; return those that failed, with the reason. Tests that an
    interrupted command finished are kept."""
    from experiments.package.check import unsealed
    from experiments.summary import PACKAGES

    failed = {}
    (directory / PACKAGES).mkdir(parents=True, exist_ok=True)
    for test in tests:
        there = directory / PACKAGES / test.name
        if test.why_not is not None or (there.is_dir() and unsealed(there) is None):
            continue
        shutil.rmtree(there, ignore_errors=True)
        context.say(f"{test.name} starts")
        try:
            test.run(there)
        except (RunFailed, StorageFault, UsageError) as error:
            context.say(f"{test.name} failed: {error}")
            failed[test.name] = str(error)
    return failed


def _profiles(context: CommandContext, settings: Settings, targets: Targets, test: Test) -> list[_One]:
    """Return each test with its settings; one that lacks something is reported before any runs."""
    from storage_tests.profile import Targets, profiles, refuse_filer, refuse_room, refuse_targets, settings_of

    own = _own_settings(test.given)
    out = []
    for name, kind in profiles().items():
        there, why_not = targets if kind.takes_paths else Targets(), None
        profile = kind(settings_of(kind, own.get(name, ()), small=test.small), there)
        try:
            refuse_targets(kind, there)
            profile.check()
            refuse_filer(profile, settings.filer)
            refuse_room(profile, fill=test.fill)
        except (StorageFault, UsageError) as error:
            why_not = str(error)
        out.append(
            _One(
                name=name,
                report=kind.report,
                why_not=why_not,
                on_paths=kind.takes_paths,
                run=_runner(context, settings, profile, test),
            )
        )
    return out


def _runner(context: CommandContext, settings: Settings, profile: Profile[Any], test: Test) -> Callable[[Path], None]:
    from experiments.package.check import finish
    from experiments.study import was_begun

    def run(there: Path) -> None:
        again = test.resume and was_begun(below(settings), asked(profile, test, settings.filer))
        result, directory = studied(
            context, settings, profile, test.model_copy(update={"resume": again, "workers": None})
        )
        finish(result, directory)
        directory.rename(there)

    return run


def _own_settings(given: Sequence[str]) -> dict[str, list[str]]:
    """Return the settings by test, from `block-8k.seconds=60`. Raises UsageError."""
    from storage_tests.profile import profiles

    out: dict[str, list[str]] = {}
    for one in given:
        name, sign, rest = one.partition(".")
        if not sign or name not in profiles():
            raise UsageError(f"--set {one}: for `all`, write NAME.SETTING=VALUE")
        out.setdefault(name, []).append(rest)
    return out


def _discovery(context: CommandContext, settings: Settings, targets: Targets, test: Test) -> _One:
    """Return a new discovery, or an existing one that passes its check."""
    from experiments.package.check import doubt
    from storage_tests.profile import refuse_bytes

    given, scale, why_not = test.discovery, test.scale or (0.0003 if test.small else 0.01), None

    def run(there: Path) -> None:
        if given is not None:
            shutil.copytree(given, there, copy_function=shutil.copyfile)
            return
        _discovered(context, settings, targets.paths[0], there, test, scale)

    if given is not None and (why := doubt(given)) is not None:
        raise UsageError(f"--discovery: {why}")
    if given is None:
        try:
            needed, files = int(_TIMES * _RAW * scale), int(_TIMES * _FILES * scale)
            refuse_bytes(DISCOVERY, targets.paths[0], needed, files, fill=test.fill)
        except UsageError as error:
            why_not = str(error)
    return _One(name=DISCOVERY, report="R1", why_not=why_not, on_paths=True, run=run)


def _show(context: CommandContext, summary: Summary, directory: Path) -> None:
    """Print a line for each test."""
    from experiments.summary import results_of, row_of, verdict

    console = context.people
    results = results_of(directory, summary)
    print_lines(console, verdict(summary, results))
    found: list[dict[str, Any]] = []
    for entry in summary.entries:
        if entry.why_not is not None:
            found.append({"name": entry.name, "why_not": entry.why_not})
            line = f"not measured: {entry.why_not}"
        else:
            row = row_of(results[entry.name])
            found.append({"name": entry.name, **dataclasses.asdict(row)})
            line = f"{row.headline}; limit: {row.limit}{row.labels and '; '}{', '.join(row.labels)}"
        print_lines(console, f"  {entry.name}: {line}")
    context.document({"run_id": summary.run_id, "paths": summary.paths, "tests": found})
    flush()


def _discovered(context: CommandContext, settings: Settings, path: Path, there: Path, test: Test, scale: float) -> None:
    """Run a discovery with corpus and storage root in a directory of its own on `path`, which is removed; copy the
    package to `there`.

    Raises what `conduct` does, UsageError where the path is taken."""
    from cli.corpus import reporter, usable_cores
    from dataset_gen.corpus import generate_corpus
    from experiments.kinds import sweep
    from experiments.package.check import finish
    from experiments.workloads.discovery.result import PointSpec
    from storage_tests.owner import claimed

    with claimed(path) as own:
        corpus = own / "corpus"
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, _CORPUS_PROFILE, scale, _SEED, usable_cores(), report)
        at = dataclasses.replace(settings, storage=own / "storage")
        study = Study(
            repeats=test.repeats, min_seconds=test.min_seconds or MIN_SECONDS, wait=test.wait,
            array=test.array, array_map=test.array_map, array_offset=test.array_offset,
        )  # fmt: skip
        workers = test.numbers("1" if test.small else "1,2,4")
        plan = sweep(
            [PointSpec(1, 1, at.slots)], "workers", workers, repeats=study.repeats, seed=test.seed or 0, name="scale-up"
        )
        result, directory = carry_out(context, at, corpus, plan, study, DiscoveryOrder())
        print_lines(context.people, result.verdict)
        finish(result, directory)
        shutil.copytree(directory, there, copy_function=shutil.copyfile)


@contextlib.contextmanager
def _page_during(
    context: CommandContext, profile: Profile[Any], settings: Settings, port: int | None
) -> Iterator[Live | None]:
    """Show a storage test in the web UI during the block; yield None if `port` is None. Raises UsageError if the port
    is in use."""
    if port is None:
        yield None
        return
    from storage_tests.live import live
    from storage_tests.routes import profile_page

    with (
        live(profile.name, profile.targets.paths) as watched,
        profile_page(watched, settings, context.env, port, context.say),
    ):
        yield watched
