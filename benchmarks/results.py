"""`make results`: measure a mounted storage with the commands of `edbench`, and check or recompute the packages in
docs/dev/results.

`--mount DIR --name NAME` runs a discovery and the storage tests there and writes docs/dev/results/packages/NAME. `--check` compares
each published package with what is computed from its observations; `--recompute` writes results, reports and manifests again."""

from __future__ import annotations

import argparse
import io
import json
import lzma
import re
import shutil
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.driver import bench_home
from experiments.package.check import check, finish, recomputed
from experiments.package.manifest import MANIFEST, files_of, seal
from experiments.package.records import RAW
from experiments.result.codec import write_result

SCHEMA = "edbench-results/1"
FILE, ENDING = "record.json", ".tar.xz"
PUBLISHED = Path(__file__).resolve().parents[1] / "docs/dev/results/packages"
_COLOURS = 24
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
# Name of the package and the storage test with its settings.
_TESTS: dict[str, tuple[str, ...]] = {
    "metadata": ("insert-drift", "size=0", "files=6000", "group=500", "clients=1,8", "directories=own"),
    "client-sweep": ("client-sweep", "clients=1,4,16", "start=together", "size=8000000"),
    "matrix": ("matrix", "threads=1,4", "records=64KiB,1MiB", "files=8MiB,64MiB", "seconds=1"),
    "insert-drift": ("insert-drift", "files=24000", "group=2000", "clients=8", "directories=shared"),
    "block-8k": ("block-8k", "cases=1,6", "outstanding=16", "most_outstanding=32", "seconds=3", "ramp_seconds=1"),
}


def main() -> None:
    """Run the command; exit with status 1 for a package that differs, or for a step that failed, whose reason is in the
    record."""
    parser = argparse.ArgumentParser(prog="make results RESULTS_ARGS=…", description=__doc__)
    parser.add_argument("--mount", type=Path, metavar="DIR", help="measure the storage of this empty directory")
    parser.add_argument("--name", help="name of the storage, for files")
    parser.add_argument("--about", default="", help="model, disks and network of the storage")
    parser.add_argument("--filer-cache", default="", help="what the storage can cache, such as 32GB")
    parser.add_argument("--scale", default="0.0003", help="scale of the reference corpus for the discovery")
    parser.add_argument("--recompute", action="store_true", help="recompute all published packages")
    parser.add_argument("--check", action="store_true", help="check every published package")
    given = parser.parse_args()
    if given.check:
        sys.exit("\n".join(differences()) or None)
    if given.recompute:
        recompute()
    elif given.mount is None or not _NAME.fullmatch(given.name or ""):
        parser.error("give --mount DIR and --name (small letters, digits, dashes), or --check, or --recompute")
    elif not given.mount.is_dir() or any(path.name != "lost+found" for path in given.mount.iterdir()):
        parser.error(f"--mount {given.mount} is not an empty directory")
    else:
        failed = measure(given.mount.absolute(), given.name, given.about, given.filer_cache, given.scale)
        sys.exit("\n".join(failed) or None)


def measure(mount: Path, name: str, about: str, cache: str, scale: str) -> list[str]:
    """Run the steps on the storage and publish their packages; return a line for each step that failed."""
    options = ("--filer-cache", cache) if cache else ()
    record: dict[str, Any] = {"schema": SCHEMA, "storage": name, "title": name, "about": about, "edbench": version("edbench"), "steps": []}  # fmt: skip
    with bench_home() as home, TemporaryDirectory(prefix="edbench-results-", dir=mount) as there:
        corpus, state = Path(there, "corpus"), home.directory / "state"
        home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale, "--seed", "7")
        scale_up = ("bench", "scale-up", "--corpus", str(corpus), "--workers", "1,2,4", "--slots", "1", "--seed", "1")
        steps: dict[str, tuple[str, ...]] = {
            "discovery": (*scale_up, "--repeats", "2", "--storage", str(Path(there, "root")))
        }
        for package, (test, *settings) in _TESTS.items():
            given = [word for setting in settings for word in ("--set", setting)]
            path = ("--path", str(Path(there, package)))
            steps[package] = ("bench", "storage", "--repeats", "1", test, *path, *given, "--seed", "1")
            Path(there, package).mkdir()
        for package, command in steps.items():
            print(f"{name}: {package}", flush=True)
            entry: dict[str, Any] = {"name": package, "began": time.time(), "why_not": None}
            try:
                page = home.run(*command, *options).rstrip().rpartition("\n")[2]
                shutil.copytree(Path(page).parent, state / "packages" / package)
                lighten(state / "packages" / package)
            except (RuntimeError, OSError) as why:
                entry["why_not"] = str(why).strip().rpartition("\n")[2].replace(str(there), "…")
            record["steps"].append(entry | {"took_s": round(time.time() - entry["began"], 1)})
        state.mkdir(exist_ok=True)
        (state / FILE).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        publish(state, PUBLISHED / name)
    return [f"{name}: {step['name']}: {step['why_not']}" for step in record["steps"] if step["why_not"]]


def recompute() -> None:
    """Recompute every published package from its observations; a signature of the earlier manifest becomes invalid."""
    for there in published():
        with unpacked(there) as packages:
            for name, package in packages.items():
                again(package)
                (there / f"{name}{ENDING}").write_bytes(packed(package))
        seal(there)
        print(f"{there.name}: recomputed", flush=True)


def again(package: Path) -> None:
    """Recompute one package in its place."""
    result = recomputed(package)
    for path in package.iterdir():
        if path.name not in (RAW, "sheet.toml"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write_result(result, package)
    finish(result, package)
    lighten(package)


def differences() -> list[str]:
    """Return differences between each published package and what is computed from its observations; a line each."""
    out: list[str] = []
    for there in published():
        with unpacked(there) as packages:
            for name, package in packages.items():
                found = check(package).differences
                print(f"{there.name}/{name}: {len(found)} differences", flush=True)
                out += [f"{there.name}/{name}: {difference}" for difference in found]
    return out


def published(there: Path = PUBLISHED) -> list[Path]:
    """Return the directories of the published storages."""
    return sorted(path for path in there.iterdir() if (path / FILE).is_file())


def publish(state: Path, there: Path) -> None:
    """Replace a storage's packages, each in one file, and its record."""
    draft = there.with_name(f".{there.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for package in sorted((state / "packages").glob("*")):
        if (package / MANIFEST).is_file():
            (draft / f"{package.name}{ENDING}").write_bytes(packed(package))
    shutil.copyfile(state / FILE, draft / FILE)
    seal(draft)
    shutil.rmtree(there, ignore_errors=True)
    draft.rename(there)


def lighten(package: Path) -> None:
    """Reduce the colours of a package's drawings, which are most of its bytes; their data is in series/."""
    from PIL import Image  # comes with matplotlib

    for drawing in sorted((package / "figures").glob("*.png")):
        with Image.open(drawing) as image:
            fewer = image.convert("RGB").quantize(_COLOURS)
        fewer.save(drawing, optimize=True)
    seal(package)


def packed(package: Path) -> bytes:
    """Return an archive with the same bytes for the same files: no owner, no times, in the order of the names."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted([*files_of(package), MANIFEST]):
            data = (package / name).read_bytes()
            member = tarfile.TarInfo(f"{package.name}/{name}")
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return lzma.compress(plain.getvalue(), preset=9)


@contextmanager
def unpacked(there: Path) -> Iterator[dict[str, Path]]:
    """Yield the packages of a published storage by name, as directories, while the block lasts."""
    with TemporaryDirectory(prefix="edbench-results-") as directory:
        files = sorted(there.glob(f"*{ENDING}"))
        for file in files:
            with tarfile.open(file) as archive:
                _extract(archive, Path(directory))
        yield {name: Path(directory, name) for name in (file.name.removesuffix(ENDING) for file in files)}


def _extract(archive: tarfile.TarFile, directory: Path) -> None:
    """Write the regular files of an archive; `extractall(filter=…)` does not exist before Python 3.11.4."""
    for member in archive:
        target = (directory / member.name).resolve()
        content = archive.extractfile(member)
        if content is None or not target.is_relative_to(directory.resolve()):
            raise ValueError(f"{archive.name!r}: {member.name!r} is no regular file below the package")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())


if __name__ == "__main__":
    main()
