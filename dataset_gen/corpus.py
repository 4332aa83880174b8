"""Makes a whole corpus: plan, processes, resumption, manifest and `dataset.json`."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
from pebble import ProcessExpired, ProcessPool

from core.errors import RunFailed, UsageError
from dataset_gen import manifest as m
from dataset_gen.plan import Plan, make_plan
from dataset_gen.profile import Profile, load_profile
from dataset_gen.workshop import Workshop
from dataset_gen.writer import Unit, units_of, write_unit

GENERATOR_VERSION = 1
DESCRIPTION = "dataset.json"
DATA = "data"
_WORK = ".edbench-generate"  # holds what an interrupted run leaves: files so far and pieces of the manifest

Progress = Callable[[int, int], None]  # bytes written, bytes to write (about)


def generate_corpus(
    directory: Path, profile_name: str, scale: float, seed: int, processes: int, progress: Progress
) -> dict[str, Any]:
    """Make the corpus, or finish an interrupted one; returns what `dataset.json` says.

    `DIR/data`, the manifest and `dataset.json` appear in this order and only whole. Raises UsageError when DIR
    holds something else or the disk is too small.
    """
    profile = load_profile(profile_name)
    wanted = _request(profile, scale, seed)
    work = directory / _WORK
    done = _check_directory(directory, wanted)
    if done is None:
        plan = make_plan(profile, seed, scale)
        _check_space(directory, plan, work)
        (work / "parts").mkdir(parents=True, exist_ok=True)
        with _alone(work):
            done = _check_directory(directory, wanted) or _make(directory, plan, wanted, processes, progress)
    shutil.rmtree(work, ignore_errors=True)
    return done


def _make(directory: Path, plan: Plan, wanted: dict[str, Any], processes: int, progress: Progress) -> dict[str, Any]:
    work = directory / _WORK
    _write_json(work / "request.json", wanted)
    units = units_of(plan.specs)
    _write_units(plan, units, work, processes, progress)
    table = m.joined(feather.read_table(str(work / "parts" / unit.part)) for unit in units)
    description = {**wanted, **_describe(table)}
    if (work / DATA).exists():  # it is not when an earlier run ended right here
        os.rename(work / DATA, directory / DATA)
    m.write_manifest(table, directory / m.FILE_NAME)
    _write_json(directory / DESCRIPTION, description)
    return description


def _request(profile: Profile, scale: float, seed: int) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "profile_version": profile.version,
        "scale": scale,
        "seed": seed,
        "generator_version": GENERATOR_VERSION,
    }


def _check_directory(directory: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The description of a finished matching corpus; None when there is something to do."""
    if not directory.exists():
        return None
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory; name a new or an empty one")
    for file in (directory / DESCRIPTION, directory / _WORK / "request.json"):
        if file.is_file():
            found = _read_json(file)
            if any(found.get(key) != value for key, value in wanted.items()):
                raise UsageError(
                    f"{directory} holds another corpus (profile {found.get('profile')}, scale {found.get('scale')}, "
                    f"seed {found.get('seed')}); name another directory or remove it"
                )
            return found if file.name == DESCRIPTION else None
    if any(entry.name != _WORK for entry in directory.iterdir()):
        raise UsageError(f"{directory} is not empty and holds no corpus; name a new or an empty directory")
    return None


def _check_space(directory: Path, plan: Plan, work: Path) -> None:
    there = directory
    while not there.exists():
        there = there.parent
    have = shutil.disk_usage(there).free
    have += sum(f.stat().st_size for f in (work / DATA).rglob("*") if f.is_file()) if work.exists() else 0
    need = int(plan.estimate * 1.08) + 20_000_000
    if have < need:
        raise UsageError(
            f"{there} has {have / 1e9:.2f} GB free, the corpus needs about {need / 1e9:.2f} GB; "
            "make room or take a smaller --scale"
        )


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Keep a second generator out of the same directory."""
    with open(work / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"{work.parent} is being written by another edbench; wait for it") from error
        yield


def _write_units(plan: Plan, units: list[Unit], work: Path, processes: int, progress: Progress) -> None:
    """Write what is not there yet, the largest units first, in this process when one is asked for."""
    total = sum(u.estimate for u in units)
    todo = [u for u in units if not (work / "parts" / u.part).exists()]
    done = total - sum(u.estimate for u in todo)
    todo.sort(key=lambda u: -u.estimate)
    progress(done, total)
    if processes == 1:
        shop = Workshop(plan.profile, plan.seed, plan.scale)
        for unit in todo:
            write_unit(shop, unit, work / DATA, work / "parts")
            done += unit.estimate
            progress(done, total)
        return
    for unit in _in_processes(plan, todo, work, processes):
        done += unit.estimate
        progress(done, total)


def _in_processes(plan: Plan, todo: list[Unit], work: Path, processes: int) -> Iterator[Unit]:
    """Have the units written by so many processes; yields each when it is done, ends the processes in any case."""
    pool = ProcessPool(
        max_workers=min(processes, max(1, len(todo))),
        initializer=_start_process,
        initargs=[plan.profile.name, plan.seed, plan.scale, work],
        context=get_context("spawn"),
    )
    try:
        waiting: dict[Future[int], Unit] = {pool.schedule(_write_in_process, args=[u]): u for u in todo}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                future.result()
                yield waiting.pop(future)
    except (ProcessExpired, BrokenExecutor) as error:
        raise RunFailed(f"a generating process died ({error}); give the same command again to go on") from error
    finally:
        pool.stop()  # type: ignore[no-untyped-call]
        pool.join()


class _Here:
    """What a process of the pool works with; set once by its initializer."""

    shop: Workshop
    work: Path


def _start_process(profile: str, seed: int, scale: float, work: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _Here.shop = Workshop(load_profile(profile), seed, scale)
    _Here.work = work


def _end_with(parent: BaseProcess) -> None:
    """Leave no process behind when the parent was killed."""
    parent.join()
    os._exit(1)


def _write_in_process(unit: Unit) -> int:
    return write_unit(_Here.shop, unit, _Here.work / DATA, _Here.work / "parts")


def _describe(table: pa.Table) -> dict[str, Any]:
    """Totals and hashes of a corpus."""
    raw = extracted = pages = 0
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("kinds", "media_types", "faults", "exceptions")}
    depths: Counter[int] = Counter()
    custodians: Counter[str] = Counter()
    over_bytes, over_content = hashlib.sha256(), hashlib.sha256()
    for row in m.iterate(table.drop_columns([m.NAME, m.TERMS])):
        counts["kinds"][row[m.KIND]] += 1
        counts["media_types"][row[m.MEDIA_TYPE]] += 1
        counts["exceptions"].update(row[m.EXCEPTIONS])
        if row[m.FAULT]:
            counts["faults"][row[m.FAULT]] += 1
        depths[row[m.DEPTH]] += 1
        pages += row[m.PAGES] or 0
        if row[m.DEPTH]:
            extracted += row[m.BYTES]
            continue
        raw += row[m.BYTES]
        custodians[row[m.CUSTODIAN]] += row[m.BYTES]
        over_bytes.update(row[m.ORDINAL] + b"\0" + row[m.SHA256])
        over_content.update(row[m.ORDINAL] + b"\0" + row[m.CONTENT])
    items = table.num_rows
    return {
        "items": items,
        "loose_files": depths[0],
        "raw_bytes": raw,
        "discovered_bytes": raw + extracted,
        "expansion": round((raw + extracted) / raw, 4) if raw else 1.0,
        "items_per_raw_gb": round(items / raw * 1e9, 1) if raw else 0.0,
        "pages_known": pages,
        "duplicates": table[m.DUPLICATE_GROUP].length() - table[m.DUPLICATE_GROUP].null_count,
        "custodians": dict(sorted(custodians.items())),
        "depths": {str(depth): count for depth, count in sorted(depths.items())},
        **{name: dict(sorted(counter.items())) for name, counter in counts.items()},
        "content_hash": over_content.hexdigest(),
        "hash": over_bytes.hexdigest(),
    }


def _write_json(path: Path, data: dict[str, Any]) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.rename(path)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}); remove it or name another directory") from error
    return data if isinstance(data, dict) else {}
