"""`edbench bench storage`: the storage tests of reports R2 to R5, one at a time or all to one page."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.automation import Automation
from cli.bench import Study, carry_out, print_result
from cli.context import CommandContext, shared, with_options
from cli.output import await_answer, bytes_text, flush, table
from cli.tree import Commands
from controller.jobs.orders import DiscoveryOrder
from core.errors import Interrupted, RunFailed, StorageFault, UsageError
from core.options.tuning import MOST_SCALE
from experiments.result.steady import MIN_SECONDS
from storage_tests.orders import ProfileOrder

if TYPE_CHECKING:
    from core.settings import Settings
    from experiments.result.schema import Result
    from experiments.summary import Entry, Summary
    from storage_tests.live import Live
    from storage_tests.profile import Profile, Targets

commands = Commands()

ALL = "all"  # every test, and a discovery
DISCOVERY = "discovery"
_CORPUS_PROFILE, _SEED = "reference", 1
_RAW, _FILES = 45e9, 1_000_000  # of that profile at scale 1
_TIMES = 4  # its size: corpus, extracted children, indexes


Test = Annotated[str, typer.Argument(metavar="[NAME]", help="a storage test, or `all`; omit it to list the tests")]
Paths = Annotated[
    list[Path] | None,
    typer.Option("--path", metavar="DIR", help="Test this empty directory on the storage; repeatable."),
]
S3 = Annotated[
    str | None,
    typer.Option(
        "--s3", metavar="URL", help="Test s3://BUCKET/PREFIX; endpoint and credentials are in AWS_* variables."
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting that --describe lists; repeatable."),
]
Describe = Annotated[
    bool, typer.Option("--describe", help="Print what the test does, writes and needs, without running it.")
]
Package = Annotated[
    Path | None,
    typer.Option("--discovery", metavar="PACKAGE", help="With `all`: use this scale-up instead of a new one."),
]
Scale = Annotated[
    float | None,
    typer.Option(
        "--scale",
        min=0.00001,
        max=MOST_SCALE,
        help="With `all`: generate the corpus at this scale.  [default: 0.01, with --small 0.0003]",
    ),
]
Workers = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N,N,...",
        help="With `all`: discover with these workers; else: wait for N workers to have the test's clients."
        "  [default: 1,2,4, with --small 1; else 1]",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the same command after an interruption.")]


@commands.add("storage", "edbench bench storage stream --path /mnt/filer/empty")
def storage_test(
    ctx: typer.Context,
    *,
    name: Test = "",
    path: Paths = None,
    s3: S3 = None,
    setting: Changes = None,
    describe: Describe = False,
    order: ProfileOrder,
    discovery: Package = None,
    scale: Scale = None,
    workers: Workers = None,
    resume: Resume = False,
    listen: opt.Listen = None,
    wait: opt.Wait = None,
    storage: opt.StorageRoot = None,
    serve: opt.Serve = False,
    serve_port: opt.ServePort = opt.PORT,
    automation: Automation,
) -> None:
    """Run a storage test of reports R2 to R5.

    Without NAME, list the tests; `all` runs every test and a discovery, to one page. The command accepts only empty directories
    and removes what it wrote: also after Ctrl-C, and after kill -9 when the next command starts. With EDBENCH_DATABASES set or
    --listen, the clients of client-sweep and insert-drift run at the connected workers. The last line is the path of the report.
    """
    context = shared(ctx)
    if not name:
        _list(context)
        return
    if describe:
        _describe(context, name, path or [], setting or [], small=order.small)
        return
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None, filer=order.filer)
    settings = dataclasses.replace(settings, filer_cache=opt.declared_cache(order.filer_cache, settings))
    if resume and order.seed is not None:
        raise UsageError("--resume continues in the order that was begun: remove --seed")
    from storage_tests.profile import Targets, made

    targets = Targets(paths=tuple(one.absolute() for one in path or ()), s3=s3)
    wish = Wish(
        repeats=order.repeats,
        seed=opt.given_seed(order.seed),
        min_seconds=order.min_seconds,
        yes=order.yes,
        resume=resume,
        serve_port=serve_port if serve else None,
        listen=listen,
        wait=wait,
        workers=max(opt.numbers(workers, "--workers")) if workers and name != ALL else 1,
        fail_if=tuple(order.fail_if or ()),
        automation=automation,
    )
    if name == ALL:
        if order.fail_if or automation.junit or automation.summary:
            raise UsageError(f"--fail-if, --junit and --summary are for one test, not for `{ALL}`")
        if listen is not None:
            raise UsageError(f"--listen: most tests of `{ALL}` run on this host only")
        counts = tuple(opt.numbers(workers or ("1" if order.small else "1,2,4"), "--workers"))
        discovering = Discovering(package=discovery, scale=scale or (0.0003 if order.small else 0.01), workers=counts)
        _run_all(context, settings, targets, setting or [], wish, discovering, small=order.small)
        return
    if discovery or scale is not None:
        raise UsageError(f"--discovery and --scale require the test `{ALL}`")
    _carry_out(context, settings, made(name, targets, setting or [], small=order.small), wish)


def _list(context: CommandContext) -> None:
    from storage_tests.profile import profiles

    found = [{"name": name, "report": kind.report, "does": kind.does} for name, kind in profiles().items()]
    found.append({"name": ALL, "report": "", "does": "every test, and a discovery, to one page"})
    if context.document(found):
        return
    rows = [(one["name"], one["report"], one["does"]) for one in found]
    context.out.print(table(("test", "report", "what it does"), rows, whole=(0, 1)))
    flush()


def _describe(context: CommandContext, name: str, paths: list[Path], given: list[str], *, small: bool) -> None:
    """What a test does, writes and needs; of `all`, the room and the time of each."""
    console = context.out
    if name == ALL:
        _describe_all(context, paths, small=small)
        return
    of = _described(name, paths, given, small=small)
    if context.document(of):
        return
    report = f", as report {of['report']} did" if of["report"] else ""
    console.print(f"{of['name']}: a storage test{report}", markup=False)
    for word in ("does", "writes", "needs"):
        console.print(f"{word}: {of[word]}", markup=False, soft_wrap=True)
    room = of["room"]
    console.print(
        f"room: {bytes_text(room['bytes'])} and {room['files']:,} files on each path; about {room['seconds'] / 60:,.0f} min per"
        " repeat, and at most as much again for null baselines",
        markup=False,
        soft_wrap=True,
    )
    console.print()
    console.print(table(("setting", "value", "meaning"), [(s["name"], s["value"], s["about"]) for s in of["settings"]]))
    flush()


def _describe_all(context: CommandContext, paths: list[Path], *, small: bool) -> None:
    from storage_tests.profile import profiles

    rooms = [(name, _described(name, paths, [], small=small)["room"]) for name in profiles()]
    if context.document([{"name": name, "room": room} for name, room in rooms]):
        return
    rows = [(name, bytes_text(room["bytes"]), f"{room['seconds'] / 60:,.0f}") for name, room in rooms]
    whole = (
        "all",
        bytes_text(max(room["bytes"] for _, room in rooms)),
        f"{sum(room['seconds'] for _, room in rooms) / 60:,.0f}",
    )
    console = context.out
    console.print("all: every test, one after another, and a discovery of a generated corpus: one page", markup=False)
    console.print(table(("test", "room on each path", "minutes per repeat"), [*rows, whole], right=(1, 2)))
    flush()


def _described(name: str, paths: list[Path], given: list[str], *, small: bool) -> dict[str, Any]:
    from storage_tests.profile import Targets, profile_named, settings_of

    kind = profile_named(name)
    settings = settings_of(kind, given, small=small)
    made = kind(settings, Targets(paths=tuple(paths) or ((Path(),) if kind.takes_paths else ())))
    room, values = made.room(), settings.model_dump(mode="json")
    return {
        "name": kind.name,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The options besides the test and its settings."""

    repeats: int
    seed: int
    min_seconds: float | None = None
    yes: bool = False
    resume: bool = False
    serve_port: int | None = None  # of the web UI; None: it is not served
    listen: str | None = None  # as `experiments.crew.system.Ways`, and …
    wait: float | None = None
    workers: int = 1  # that are awaited, to have the test's own clients
    fail_if: tuple[str, ...] = ()  # bounds on its figures
    automation: Automation = dataclasses.field(default_factory=Automation)


def _carry_out(context: CommandContext, settings: Settings, profile: Profile[Any], wish: Wish) -> None:
    """Run it and print the result; the path of the report is the last line. Raises UsageError before anything is written."""
    wish.automation.begin(profile.ABOUT.titled(profile.kind(wish.repeats, wish.seed).name))
    print_result(context, *studied(context, settings, profile, wish), wish.automation)


def studied(context: CommandContext, settings: Settings, profile: Profile[Any], wish: Wish) -> tuple[Result, Path]:
    """Raises what `conduct` does."""
    from cli.progress import live_line
    from experiments.crew.system import Ways
    from experiments.study import begun, conduct, new_id
    from storage_tests.profile import refuse_filer, refuse_room
    from storage_tests.study import ProfileStudy

    await_answer(*profile.targets.paths)
    profile.check()
    refuse_filer(profile, settings.filer)
    refuse_room(profile, yes=wish.yes)
    ways = Ways(listen=wish.listen, wait=wish.wait)
    # An order carries no address of an endpoint, and clients of an emulated filer share its arbiter.
    own = profile.emulates and profile.targets.s3 is None and settings.filer == "none"
    at_members = own and not (settings.embedded and ways.listen is None)
    if ways.listen is not None and not own:
        raise UsageError(f"--listen: the load of {profile.name} runs on this host only")
    if wish.workers > 1 and not at_members:
        raise UsageError(
            f"--workers: the load of {profile.name} runs on this host; use --listen, or set EDBENCH_DATABASES"
        )
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
            _page_during(context, profile, settings, wish.serve_port) as live,
        ):
            shown = ProfileStudy(
                profile, settings, context.clock, context.say, tell, study.sessions, live,
                env=context.env if at_members else None, ways=ways, workers=wish.workers,
            )  # fmt: skip
            try:
                return conduct(shown, kind, least, study, fail_if=wish.fail_if)
            except KeyboardInterrupt as error:
                raise Interrupted(
                    "the files that it wrote are removed; continue with the same command and --resume"
                ) from error


def below(settings: Settings) -> Path:
    """The directory of unfinished experiments."""
    return settings.scratch / "profiles" / "begun"


def asked(profile: Profile[Any], wish: Wish, filer: str) -> dict[str, Any]:
    """Everything that must be the same for an experiment to be continued."""
    from importlib.metadata import version

    return {
        "edbench": version("edbench"),
        "profile": profile.name,
        "settings": profile.settings.model_dump(mode="json"),
        "paths": [str(path) for path in profile.targets.paths],
        "s3": profile.targets.s3,
        "filer": filer,
        "repeats": wish.repeats,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovering:
    """The discovery that the common report shows."""

    package: Path | None  # an existing one; None: run one
    scale: float
    workers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """A test, which writes a package, or the reason why it cannot run."""

    name: str
    report: str
    why_not: str | None = None
    run: Callable[[Path], None]  # writes its package to a directory


def _run_all(
    context: CommandContext, settings: Settings, targets: Targets, given: Sequence[str], wish: Wish, discovering: Discovering,
    *, small: bool,
) -> None:  # fmt: skip
    """Raises UsageError where nothing can be run as asked, RunFailed at the end where a test failed that could be run."""
    from importlib.metadata import version

    from experiments.package.records import RESULTS
    from experiments.study import begun, new_id
    from experiments.summary import Summary, finish

    if targets.s3 or not targets.paths:
        raise UsageError("bench storage all requires --path DIR")
    if missing := [path for path in targets.paths if not path.is_dir()]:
        raise UsageError(f"{missing[0]} is not a directory; create it, or mount the storage under test there")
    others = _profiles(context, settings, targets, given, wish, small=small)
    tests = [_discovery(context, settings, targets, wish, discovering), *others]
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
        page = finish(summary, directory)
    _show(context, summary, directory)
    context.last_line(str(page))
    if failed:
        raise RunFailed(f"not measured: {', '.join(failed)}")


def _entries(tests: Sequence[_Test], failed: Mapping[str, str]) -> tuple[Entry, ...]:
    """Raises RunFailed where there is nothing to show."""
    from experiments.summary import Entry

    why_not = {test.name: test.why_not or failed.get(test.name) for test in tests}
    if all(why_not.values()):
        raise RunFailed(f"no test could run: {next(iter(why_not.values()))}")
    return tuple(Entry(name=test.name, report=test.report, why_not=why_not[test.name]) for test in tests)


def _carried_out(context: CommandContext, tests: Sequence[_Test], directory: Path) -> dict[str, str]:
    """Run the tests that can run, one after another; those that failed, with the reason. Tests that an interrupted command
    finished are kept."""
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


def _profiles(
    context: CommandContext, settings: Settings, targets: Targets, given: Sequence[str], wish: Wish, *, small: bool
) -> list[_Test]:
    """Each test with its settings; one that lacks something is reported before any runs."""
    from storage_tests.profile import Targets, profiles, refuse_filer, refuse_room, refuse_targets, settings_of

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
    from experiments.package.check import finish
    from experiments.study import was_begun

    def run(there: Path) -> None:
        again = wish.resume and was_begun(below(settings), asked(profile, wish, settings.filer))
        result, directory = studied(context, settings, profile, dataclasses.replace(wish, resume=again))
        finish(result, directory)
        directory.rename(there)

    return run


def _own_settings(given: Sequence[str]) -> dict[str, list[str]]:
    """`block-8k.seconds=60` by test; raises UsageError."""
    from storage_tests.profile import profiles

    out: dict[str, list[str]] = {}
    for one in given:
        name, sign, rest = one.partition(".")
        if not sign or name not in profiles():
            raise UsageError(f"--set {one}: for `all`, write NAME.SETTING=VALUE")
        out.setdefault(name, []).append(rest)
    return out


def _discovery(
    context: CommandContext, settings: Settings, targets: Targets, wish: Wish, discovering: Discovering
) -> _Test:
    """A new one, or an existing one that passes its check."""
    from experiments.package.check import doubt

    given = discovering.package

    def run(there: Path) -> None:
        if given is not None:
            shutil.copytree(given, there, copy_function=shutil.copyfile)
            return
        _discovered(
            context, settings, targets.paths[0], there, wish, scale=discovering.scale, workers=discovering.workers
        )

    why_not = None
    if given is not None and (why := doubt(given)) is not None:
        raise UsageError(f"--discovery: {why}")
    if given is None:
        try:
            refuse_corpus(targets.paths[0], discovering.scale, yes=wish.yes)
        except UsageError as error:
            why_not = str(error)
    return _Test(name=DISCOVERY, report="R1", why_not=why_not, run=run)


def _show(context: CommandContext, summary: Summary, directory: Path) -> None:
    """A line for each test."""
    from experiments.summary import results_of, row_of, verdict

    console = context.people
    results = results_of(directory, summary)
    console.print(verdict(summary, results), markup=False, soft_wrap=True)
    found: list[dict[str, Any]] = []
    for entry in summary.entries:
        if entry.why_not is not None:
            found.append({"name": entry.name, "why_not": entry.why_not})
            line = f"not measured: {entry.why_not}"
        else:
            row = row_of(results[entry.name])
            found.append({"name": entry.name, **dataclasses.asdict(row)})
            line = f"{row.headline}; limit: {row.limit}{row.labels and '; '}{', '.join(row.labels)}"
        console.print(f"  {entry.name}: {line}", markup=False, soft_wrap=True)
    context.document({"run_id": summary.run_id, "paths": summary.paths, "tests": found})
    flush()


def refuse_corpus(path: Path, scale: float, *, yes: bool) -> None:
    """Raises UsageError where there is no room for it."""
    from storage_tests.profile import refuse_bytes

    refuse_bytes(DISCOVERY, path, int(_TIMES * _RAW * scale), int(_TIMES * _FILES * scale), yes=yes)


def _discovered(
    context: CommandContext,
    settings: Settings,
    path: Path,
    there: Path,
    wish: Wish,
    *,
    scale: float,
    workers: Sequence[int],
) -> None:
    """Corpus and storage root are in a directory of their own on `path`, which is removed; the package is copied `there`.

    Raises what `conduct` does, UsageError where the path is taken.
    """
    from cli.corpus import reporter, usable_cores
    from dataset_gen.corpus import generate_corpus
    from experiments.kinds import scale_up
    from experiments.package.check import finish
    from experiments.workloads.discovery.result import PointSpec
    from storage_tests.owner import claimed

    with claimed(path) as own:
        corpus = own / "corpus"
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, _CORPUS_PROFILE, scale, _SEED, usable_cores(), report)
        at = dataclasses.replace(settings, storage=own / "storage")
        study = Study(repeats=wish.repeats, min_seconds=wish.min_seconds or MIN_SECONDS, wait=wish.wait)
        plan = scale_up(PointSpec(1, 1, at.slots), workers, repeats=study.repeats, seed=wish.seed)
        result, directory = carry_out(context, at, corpus, plan, study, DiscoveryOrder())
        context.people.print(result.verdict, markup=False, soft_wrap=True)
        finish(result, directory)
        shutil.copytree(directory, there, copy_function=shutil.copyfile)


@contextlib.contextmanager
def _page_during(
    context: CommandContext, profile: Profile[Any], settings: Settings, port: int | None
) -> Iterator[Live | None]:
    """Show a storage test in the web UI while the block lasts; None where `port` is None. Raises UsageError when the port is in
    use."""
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
