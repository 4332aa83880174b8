"""The same quantities by programs of other people, on the same mount, right after our own: dd, sysbench, bonnie++, fio.

fio is asked only about what edbench measures without it. Each is run several times; all values are kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.results.bench import Bench, StepFailed
from experiments.result.codec import read_result

_COPIED = re.compile(r"^(\d+) bytes .* copied, ([0-9.e-]+) s", re.MULTILINE)
_MIB = 1 << 20
_CREATED = 26  # of its line of figures, format 1.98, from nought: files created in sequence a second
_SECONDS = 3
_FIO = ("--output-format=json", "--fallocate=none", "--thread", "--group_reporting", "--iomem_align=4096")


def metadata(bench: Bench) -> list[dict[str, Any]]:
    """Empty files created a second by one client."""
    at = {"directories": "own", "clients": 1}
    files = _as_many(bench, at)
    ours = {
        "package": "metadata",
        "figure": "files_per_s",
        "at": at,
        "unit": "files/s",
        "what": "empty files created, 1 client",
    }
    return [
        _told(bench, "fio", "filecreate engine, 1 job", lambda: _fio_create(bench, files), ours),
        _told(bench, "bonnie++", f"-n {max(1, files // 1024)}:0:0:1", lambda: _bonnie(bench, files), ours),
    ]  # fmt: skip


def block(bench: Bench) -> list[dict[str, Any]]:
    """8 KiB at random, 60 % reads, sixteen outstanding."""
    from benchmarks.results.steps import OUTSTANDING

    ours = {"package": "block-8k", "figure": "iops", "at": {"case": 1}, "unit": "IOPS",
            "what": f"8 KiB at random, 60 % reads, {OUTSTANDING} outstanding"}  # fmt: skip
    return [
        _told(bench, "sysbench", f"fileio rndrw, {OUTSTANDING} threads", lambda: _sysbench(bench, OUTSTANDING), ours),
    ]  # fmt: skip


def sweep(bench: Bench) -> list[dict[str, Any]]:
    """Whole objects written, forced to storage, and read again by four clients, or as many as there were at most."""
    clients = 4 if 4 in bench.sizes.objects else max(bench.sizes.objects)
    at = {"start": "together", "clients": clients}
    out = []
    for way in ("write", "read"):
        ours = {"package": "client-sweep", "figure": f"{way}_aggregate_mb_s", "at": at, "unit": "MB/s",
                "what": f"objects of {bench.sizes.object_bytes / 1e6:g} MB, {way}, {clients} clients"}  # fmt: skip
        out.append(_told(bench, "fio", f"{way}, {clients} jobs, 1 MiB", lambda way=way: _fio_objects(bench, way, clients), ours))  # fmt: skip
    return out


def matrix(bench: Bench) -> list[dict[str, Any]]:
    """One thread, records of 1 MiB, the larger file: written and forced, and read."""
    size = max(bench.sizes.matrix_mib) * _MIB
    at = {"threads": 1, "record": _MIB, "file": size}
    out = []
    for way, call in (("write", _dd_write), ("read", _dd_read)):
        ours = {"package": "matrix", "figure": f"{way}_mb_per_s", "at": at, "unit": "MB/s",
                "what": f"{size >> 20} MiB, {way}, 1 thread, 1 MiB records"}  # fmt: skip
        out.append(_told(bench, "dd", "bs=1M, conv=fsync" if way == "write" else "bs=1M, after nocache",
                         lambda call=call: call(bench, size), ours))  # fmt: skip
    return out


def _as_many(bench: Bench, at: Mapping[str, Any]) -> int:
    """Files for about two seconds, by our own rate: bonnie++ tells nothing of less than half a second."""
    package = bench.state / "packages/metadata"
    rate = 1000.0
    if package.is_dir():
        points = [point for point in read_result(package).points if at.items() <= point.at.values().items()]
        rate = points[0].figures["files_per_s"].median
    return min(200 * 1024, max(1024, round(2 * rate / 1024) * 1024))


def _told(bench: Bench, tool: str, how: str, measure: Callable[[], float], ours: Mapping[str, Any]) -> dict[str, Any]:
    """What it said, each time; or why it said nothing."""
    entry: dict[str, Any] = {"tool": tool, "how": how, "began": time.time(), "ours": dict(ours)}
    if shutil.which(tool) is None:
        return entry | {"why_not": f"there is no {tool}"}
    if not (bench.state / "packages" / ours["package"]).is_dir():
        return entry | {"why_not": f"{ours['package']} was not measured"}
    try:
        values = [measure() for _ in range(bench.sizes.tool_repeats)]
    except (StepFailed, OSError, ValueError, LookupError, ArithmeticError) as error:
        return entry | {"why_not": f"{type(error).__name__}: {error}"}
    return entry | {"values": values, "median": statistics.median(values), "version": _version(bench, tool)}


def _version(bench: Bench, tool: str) -> str:
    try:
        return bench.run(["dpkg-query", "-W", "-f=${Version}", "coreutils" if tool == "dd" else tool]).strip()
    except (StepFailed, OSError):
        return "unknown"


def _fio(bench: Bench, *arguments: str) -> dict[str, Any]:
    out = bench.run(["fio", *_FIO, *arguments])
    document: dict[str, Any] = json.loads(out[out.index("{") :])["jobs"][0]
    if document["error"]:
        raise StepFailed(f"fio: error {document['error']}")
    return document


def _fio_create(bench: Bench, files: int) -> float:
    there = bench.empty("tool")
    # One after another: in turn, as is its default, fio looks through all files that it has done for each that it makes.
    asked = ("--name=c", f"--directory={there}", "--ioengine=filecreate", f"--nrfiles={files}", "--openfiles=1",
             "--file_service_type=sequential", "--filesize=4k", "--create_on_open=1")  # fmt: skip
    began = _fio(bench, *asked)
    made = sum(1 for _ in there.iterdir())
    shutil.rmtree(there)
    if made != files:
        raise StepFailed(f"fio made {made} of {files} files")
    return files / (float(began["job_runtime"]) / 1000)


def _fio_objects(bench: Bench, way: str, clients: int) -> float:
    there = bench.place.directory / "tool-objects"
    if way == "write":
        there = bench.empty("tool-objects")
    record = min(_MIB, bench.sizes.object_bytes)
    size = bench.sizes.object_bytes // record * record  # whole records, or reading would lengthen the files first
    asked = ["--name=o", f"--directory={there}", f"--rw={way}", f"--bs={record}", f"--filesize={size}", f"--numjobs={clients}",
             "--ioengine=psync", "--refill_buffers", "--end_fsync=1"]  # fmt: skip
    if way == "write":
        asked.append("--create_on_open=1")
    told = _fio(bench, *asked)[way]
    return float(told["io_bytes"] / (told["runtime"] / 1000) / 1e6)


def _bonnie(bench: Bench, files: int) -> float:
    there = bench.empty("tool")
    asked = [
        "bonnie++",
        "-d",
        str(there),
        "-s",
        "0",
        "-n",
        f"{max(1, files // 1024)}:0:0:1",
        "-q",
        "-u",
        "root",
        "-m",
        "x",
    ]
    line = bench.run(asked).strip().rpartition("\n")[2]
    shutil.rmtree(there)
    return float(line.split(",")[_CREATED])


def _sysbench(bench: Bench, threads: int) -> float:
    there = bench.empty("tool")
    asked = ["sysbench", "fileio", "--file-num=32", f"--file-total-size={bench.sizes.block_bytes}", "--file-test-mode=rndrw",
             "--file-block-size=8192", "--file-rw-ratio=1.5", "--file-fsync-freq=0", "--file-fsync-end=off",
             f"--threads={threads}", f"--time={_SECONDS}", "--events=0"]  # fmt: skip
    if bench.direct:
        asked.append("--file-extra-flags=direct")
    bench.run([*asked, "prepare"], cwd=there)
    out = bench.run([*asked, "run"], cwd=there)
    shutil.rmtree(there)
    rates = [float(re.search(rf"{way}/s:\s+([0-9.]+)", out)[1]) for way in ("reads", "writes")]  # type: ignore[index]
    return sum(rates)


def _dd(bench: Bench, *arguments: str) -> float:
    """MB/s as it prints them: bytes over its own seconds."""
    environment = os.environ | {"LC_ALL": "C"}
    out = bench.run(["sh", "-c", 'exec dd "$@" 2>&1', "dd", *arguments], environment)
    said = _COPIED.search(out)
    if said is None:
        raise StepFailed(f"dd said {out.strip()[-200:]!r}")
    return int(said[1]) / float(said[2]) / 1e6


def _random(size: int) -> Path:
    """In memory, so that making it costs nothing while it is written."""
    path = Path("/dev/shm") / f"edbench-results-{os.getpid()}"
    if not path.exists() or path.stat().st_size != size:
        with path.open("wb") as file:
            for _ in range(size // _MIB):
                file.write(os.urandom(_MIB))
    return path


def _dd_write(bench: Bench, size: int) -> float:
    path = bench.place.directory / "tool-dd"
    path.unlink(missing_ok=True)
    source = _random(size)
    try:
        return _dd(bench, f"if={source}", f"of={path}", "bs=1M", "conv=fsync")
    finally:
        source.unlink()


def _dd_read(bench: Bench, _size: int) -> float:
    """What lies there since it was written; this host's pages of it are given back before."""
    path = bench.place.directory / "tool-dd"
    bench.run(["dd", f"of={path}", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
    return _dd(bench, f"if={path}", "of=/dev/null", "bs=1M")
