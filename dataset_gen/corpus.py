"""Generation of a whole corpus: plan, processes, resumption, manifest and `dataset.json`."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from multiprocessing import active_children, forkserver, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from core.errors import RunFailed, UsageError, read_problem
from core.storage.whole import naming_of
from dataset_gen.material.blocks import Blocks
from dataset_gen.material.system_files import FILE_NAME as SYSTEM_LIST
from dataset_gen.material.system_files import system_list
from dataset_gen.mix import Profile
from dataset_gen.planning.files import Planner
from dataset_gen.planning.tally import CorpusTotals
from dataset_gen.profile import load_profile
from dataset_gen.truth import manifest as m
from dataset_gen.truth.facts import Facts
from dataset_gen.workshop import Workshop
from dataset_gen.writer import Unit, tally_of_part, units_of, write_unit

_ODD_NAME = 'Re: "What?"'  # DOS' file systems have no such name; NTFS-3G and exFAT's driver say so in different ways


def _check_space(there: Path, raw: int, written: Path) -> None:
    """Check for the space of so many raw bytes, some of which may exist already."""
    have = shutil.disk_usage(there).free
    have += sum(f.stat().st_size for f in written.rglob("*") if f.is_file()) if written.exists() else 0
    need = int(raw * 1.05) + 20_000_000
    if have < need:
        raise UsageError(
            f"{there} has {have / 1e9:.2f} GB free, the corpus needs about {need / 1e9:.2f} GB; "
            "free space or use a smaller --scale"
        )


def _check_names(there: Path) -> None:
    try:
        made = tempfile.TemporaryDirectory(dir=there, prefix=".edbench-names-")
    except OSError as error:
        why = f"cannot write in {there}: {error.strerror}"
        raise UsageError(f"{why}; make it writable, or choose another directory") from error
    with made as probe:
        if not naming_of(Path(probe)).kept:
            raise _no_place(there, "it ignores the case of names, or changes them")
        try:
            (Path(probe) / _ODD_NAME).touch()
        except OSError as error:
            raise _no_place(there, f"{_ODD_NAME!r} cannot be created there ({error.strerror})") from error


def _no_place(there: Path, why: str) -> UsageError:
    return UsageError(f"{there} cannot hold a corpus, which has names of every kind: {why}; use another file system")


GENERATOR_VERSION = 1
DESCRIPTION = "dataset.json"
DATA = "data"
_POOLS = "dataset_gen.pools"  # all processes share the pools that its import makes
_WORK = ".edbench-generate"  # holds what an interrupted run leaves: files so far and pieces of the manifest

Progress = Callable[[int, int], None]  # bytes written, bytes to write (about)


def generate_corpus(
    directory: Path, profile_name: str, scale: float, seed: int, processes: int, progress: Progress
) -> dict[str, Any]:
    """Make the corpus, or finish an interrupted one; returns the contents of `dataset.json`.

    The profile is the name of a shipped one or a TOML file. `DIR/data`, the list of system files, the manifest and
    `dataset.json` appear in this order and only whole. Raises UsageError when DIR holds something else or the disk is
    too small."""
    profile = load_profile(profile_name)
    wanted = _request(profile, scale, seed)
    work = directory / _WORK
    done = _check_directory(directory, wanted)
    if done is None:
        planner = Planner(profile, seed, scale)
        there = next(place for place in (directory, *directory.absolute().parents) if place.exists())
        _check_space(there, planner.raw, work / DATA)
        _check_names(there)
        (work / "parts").mkdir(parents=True, exist_ok=True)
        with _alone(work):
            done = _check_directory(directory, wanted) or _make(directory, planner, wanted, processes, progress)
    shutil.rmtree(work, ignore_errors=True)
    return done


def _make(
    directory: Path, planner: Planner, wanted: dict[str, Any], processes: int, progress: Progress
) -> dict[str, Any]:
    work = directory / _WORK
    write_json(work / "request.json", wanted)
    parts, blocks = _write_rounds(planner, work, processes, progress)
    system, system_text = system_list(planner.shop)
    if (work / DATA).exists():  # absent if an earlier run ended right here
        os.rename(work / DATA, directory / DATA)
    (directory / SYSTEM_LIST).write_text(system_text, encoding="utf-8")
    joined = (
        (parts, directory / m.FILE_NAME, system),
        (planner.profile, planner.scale, blocks.to_json(), planner.threads),
    )
    if processes == 1:
        facts = _join(*joined)
    else:  # in a process of its own: this one has planned a million items
        with _processes(1, _heed_parent) as pool:
            facts = pool.schedule(_join, args=joined).result()
    description = {**wanted, **facts}
    write_json(directory / DESCRIPTION, description)
    return description


def _join(manifest: tuple[Any, ...], details: tuple[Any, ...]) -> dict[str, Any]:
    """Write the manifest of the whole; return the description of the corpus (`Facts.description`)."""
    facts = Facts()
    for table in m.write_joined(*manifest):
        facts.add(table)
    return facts.description(*details)


def _write_rounds(planner: Planner, work: Path, processes: int, progress: Progress) -> tuple[list[Path], Blocks]:
    """Write round after round; return the parts of the manifest in order, and the counts of the blocks."""
    tally = CorpusTotals()
    parts: list[Path] = []
    with _writing(planner, work, processes) as write:
        for specs in planner.rounds(tally):
            units = units_of(specs, len(parts))
            there = [u for u in units if (work / "parts" / u.part).exists()]
            done = tally.raw + sum(u.estimate for u in there)
            progress(done, planner.raw)
            todo = sorted((u for u in units if u not in there), key=lambda u: -u.estimate)
            for unit in write(todo):
                done += unit.estimate
                progress(done, planner.raw)
            mine = [work / "parts" / u.part for u in units]
            for part in mine:
                tally.add(tally_of_part(part))
            parts += mine
            specs.clear()  # these hold 100 MB of a whole corpus, while the next round is planned
            units.clear()
            there.clear()
            todo.clear()
    return parts, tally.blocks


def _request(profile: Profile, scale: float, seed: int) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "profile_version": profile.version,
        "profile_sha256": profile.digest,
        "scale": scale,
        "seed": seed,
        "generator_version": GENERATOR_VERSION,
    }


def _check_directory(directory: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Return the description of a finished matching corpus; None if there is something to do."""
    if not directory.exists():
        return None
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory; give a new or an empty one")
    for file in (directory / DESCRIPTION, directory / _WORK / "request.json"):
        if file.is_file():
            description = read_json(file)
            if any(description.get(key) != value for key, value in wanted.items()):
                raise UsageError(
                    f"{directory} contains another corpus (profile {description.get('profile')}, scale {description.get('scale')}, "
                    f"seed {description.get('seed')}); give another directory or remove it"
                )
            return description if file.name == DESCRIPTION else None
    if any(entry.name != _WORK for entry in directory.iterdir()):
        raise UsageError(f"{directory} is not empty and not a corpus; give a new or an empty directory")
    return None


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Lock the directory against a second generator."""
    with open(work / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"{work.parent} is being written by another edbench; wait for it") from error
        yield


Write = Callable[[list[Unit]], Iterator[Unit]]


@contextmanager
def _writing(planner: Planner, work: Path, processes: int) -> Iterator[Write]:
    """Yield the function that writes units, the largest first: in this process if `processes` is 1, else in a pool."""
    if processes == 1:

        def here(todo: list[Unit]) -> Iterator[Unit]:
            for unit in todo:
                write_unit(planner.shop, unit, work / DATA, work / "parts")
                yield unit

        yield here
        return
    initial = [planner.profile, planner.seed, planner.scale, work]
    with _processes(processes, _start_process, initial) as pool:

        def there(todo: list[Unit]) -> Iterator[Unit]:
            try:
                waiting: dict[Future[int], Unit] = {pool.schedule(_write_in_process, args=[u]): u for u in todo}
            except RuntimeError as error:  # the pool found one dead since its last unit was written
                raise BrokenExecutor(str(error)) from error
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    future.result()
                    yield waiting.pop(future)

        yield there


@contextmanager
def _processes(number: int, initializer: Callable[..., None], initial: Sequence[Any] = ()) -> Iterator[ProcessPool]:
    """Yield processes that share their pools. Raises RunFailed if one of them dies."""
    context = get_context("forkserver")
    context.set_forkserver_preload([_POOLS])
    forkserver.ensure_running()  # it makes the pools while this process makes the plan
    others = set(active_children())
    pool = ProcessPool(max_workers=number, initializer=initializer, initargs=list(initial), context=context)
    try:
        yield pool
    except (ProcessExpired, BrokenExecutor) as error:
        raise RunFailed(f"a generating process died ({error}); run the same command again to continue") from error
    finally:
        pool.stop()  # type: ignore[no-untyped-call]
        for process in set(active_children()) - others:
            process.kill()  # joining removes first what they share: one that is just starting would print a traceback
        pool.join()


class _Here:
    """Workshop and directory of a process of the pool; set once by its initializer."""

    shop: Workshop
    work: Path


def _heed_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _start_process(profile: Profile, seed: int, scale: float, work: Path) -> None:
    _heed_parent()
    _Here.shop = Workshop(profile, seed, scale)
    _Here.work = work


def _end_with(parent: BaseProcess) -> None:
    """Exit when the parent has ended, so that no process survives it."""
    parent.join()
    os._exit(1)


def _write_in_process(unit: Unit) -> int:
    return write_unit(_Here.shop, unit, _Here.work / DATA, _Here.work / "parts")


def write_json(path: Path, data: dict[str, Any]) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.rename(path)


def read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{read_problem(path, error)}; remove it or give another directory") from error
    return data if isinstance(data, dict) else {}
