"""Apache Tika as the peer: its application jar from Maven Central, batch mode, recursive JSON with plain text.

One run reads the set of files several times over, in one Java process with two consumers. The first round is the
warm-up (class loading, first compilation); the clock runs from the moment its last-but-none file is done: files are
taken in the order of a list, Tika writes one result for each, and the time of that write is when it was done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processor_time import sampled

VERSION = "3.2.2"
URL = f"https://repo1.maven.org/maven2/org/apache/tika/tika-app/{VERSION}/tika-app-{VERSION}.jar"
SHA512 = (
    "758d0700a53288220c6a92816ed2fbada130352d15d78bd27f3fe6b3b767710c"
    "3ede6341009a25f24735e4a2a448e29971eb6db1ebacaa1bd98fb39396eda45d"
)
CONSUMERS = 2
_DOWNLOAD_SECONDS = 60
# Without this Tika reads pictures and pages by tesseract where that is installed, which takes a hundred times as long and
# is not what is compared: here it is asked for by `--ocr`.
_NO_OCR = """<?xml version="1.0" encoding="UTF-8"?>
<properties><parsers><parser class="org.apache.tika.parser.DefaultParser">
<parser-exclude class="org.apache.tika.parser.ocr.TesseractOCRParser"/>
</parser></parsers></properties>
"""


class TikaAbsent(Exception):
    """The comparison cannot be made; says why."""


@dataclass(frozen=True, slots=True)
class Tika:
    """A Java command and the jar."""

    java: str
    jar: Path
    jvm: str  # first line of `java -version`


@dataclass(frozen=True, slots=True)
class TikaRun:
    """One batch run."""

    files_per_second: float  # after the warm-up, with two consumers
    cpu_seconds: float  # of processor, for a file, of the same
    parse_ms: dict[str, float]  # by file: mean of what Tika says it took to parse, after the warm-up
    documents: dict[str, list[dict[str, Any]]]  # by file: what it found, of the first round; [] where it gave nothing


def find_tika(cache: Path) -> Tika:
    """Java and the jar (`TIKA_APP_JAR`, or from the cache, or downloaded); raises TikaAbsent."""
    java = shutil.which("java")
    if java is None:
        raise TikaAbsent("there is no java on the path")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    own = os.environ.get("TIKA_APP_JAR")
    jar = Path(own) if own else cache / f"tika-app-{VERSION}.jar"
    if own and not jar.is_file():
        raise TikaAbsent(f"TIKA_APP_JAR names {own}, which is no file")
    if not jar.is_file():
        _download(jar)
    return Tika(java, jar, said.stderr.splitlines()[0] if said.stderr else "java")


def _download(jar: Path) -> None:
    jar.parent.mkdir(parents=True, exist_ok=True)
    part = jar.with_suffix(f".{os.getpid()}.part")
    state = hashlib.sha512()
    try:
        with urllib.request.urlopen(URL, timeout=_DOWNLOAD_SECONDS) as answer, part.open("wb") as out:
            while chunk := answer.read(1 << 20):
                state.update(chunk)
                out.write(chunk)
        if state.hexdigest() != SHA512:
            raise TikaAbsent(f"what {URL} gave has another SHA-512 than the published jar")
        part.rename(jar)
    except (OSError, urllib.error.URLError) as e:
        raise TikaAbsent(f"{URL} cannot be had ({e})") from e
    finally:
        part.unlink(missing_ok=True)


def can_be_named(name: str) -> bool:
    """Whether a file can stand in the list that Tika reads: its name is UTF-8 and one line."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return len(name.splitlines()) == 1 and name == name.strip()


def run_tika(tika: Tika, source: Path, files: Sequence[str], rounds: int, scratch: Path) -> TikaRun:
    """Read `files` (relative to `source`) once for warm-up and `rounds` times under the clock."""
    command, out = batch(tika, source, files, rounds, scratch)
    with (scratch / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"LC_ALL": "C.UTF-8"})
        with sampled(process.pid) as samples:
            status = process.wait()
    if status:
        raise RuntimeError(f"{' '.join(command)} gave {status}; its last lines: {_tail(scratch / 'log')}")
    times = {name: list(_answers(out, name, rounds + 1)) for name in files}
    finished = sorted(path.stat().st_mtime_ns for paths in times.values() for path in paths)
    warm = len(files)
    cpu = samples.between(finished[warm - 1] / 1e9, finished[-1] / 1e9) if len(finished) > warm else 0.0
    return TikaRun(
        files_per_second(finished, warm),
        cpu / max(1, len(finished) - warm),
        {name: _mean_ms(paths[1:]) for name, paths in times.items() if paths[1:]},
        {name: _documents(paths[0]) if paths else [] for name, paths in times.items()},
    )


def batch(tika: Tika, source: Path, files: Sequence[str], rounds: int, scratch: Path) -> tuple[list[str], Path]:
    """A command that reads them so many times and once more, and the directory where it writes what it found."""
    view, out, listed, config = (scratch / name for name in ("in", "out", "list", "config.xml"))
    view.mkdir(parents=True)
    for number in range(rounds + 1):
        (view / str(number)).symlink_to(source.resolve(), target_is_directory=True)
    listed.write_text("".join(f"{n}/{name}\n" for n in range(rounds + 1) for name in files), encoding="utf-8")
    config.write_text(_NO_OCR, encoding="utf-8")
    command = [tika.java, "-jar", str(tika.jar), "-i", str(view), "-o", str(out), "-J", "-t"]
    return [*command, "-numConsumers", str(CONSUMERS), "-fileList", str(listed), "-c", str(config)], out


def files_per_second(finished_ns: Sequence[int], warm: int) -> float:
    """Of the moments at which files were done, sorted: the rate after the first `warm` of them."""
    if len(finished_ns) <= warm or finished_ns[-1] == finished_ns[warm - 1]:
        return 0.0
    return (len(finished_ns) - warm) * 1e9 / (finished_ns[-1] - finished_ns[warm - 1])


def _answers(out: Path, name: str, rounds: int) -> Iterator[Path]:
    for number in range(rounds):
        path = out / str(number) / f"{name}.json"
        if path.is_file():
            yield path


def _documents(path: Path) -> list[dict[str, Any]]:
    """What Tika wrote; [] where it broke off before it wrote JSON."""
    try:
        documents = json.loads(path.read_bytes() or b"[]")
    except ValueError:
        return []
    return [d for d in documents if isinstance(d, dict)]


def _mean_ms(paths: Sequence[Path]) -> float:
    times = [float(d[0].get("X-TIKA:parse_time_millis", 0)) for d in map(_documents, paths) if d]
    return sum(times) / len(times) if times else 0.0


def _tail(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").splitlines()[-5:])
