"""What is kept of a storage: each step's package, and `record.json` with what lies in none of them. Sealed like a package."""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.package.manifest import MANIFEST, files_of, seal
from experiments.package.records import RAW

SCHEMA = "edbench-results/1"
_COLOURS = 24
FILE, ENDING = "record.json", ".tar.xz"
REPOSITORY = Path(__file__).resolve().parents[2]
PUBLISHED = REPOSITORY / "docs/dev/results/packages"


def read(directory: Path) -> dict[str, Any]:
    """Of a storage; raises ValueError for a record of another kind."""
    record: dict[str, Any] = json.loads((directory / FILE).read_text(encoding="utf-8"))
    if record.get("schema") != SCHEMA:
        raise ValueError(f"{directory / FILE} is no {SCHEMA}")
    return record


def write(directory: Path, record: Mapping[str, Any]) -> None:
    """Whole or not at all: the command may be killed."""
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory / f"{FILE}.part"
    draft.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(directory / FILE)


def published(there: Path = PUBLISHED) -> list[Path]:
    """A directory for each storage."""
    return sorted(path for path in there.iterdir() if (path / FILE).is_file())


def packages(directory: Path) -> Iterator[tuple[str, Path]]:
    """The directories of the packages, in a storage's state."""
    for path in sorted((directory / "packages").glob("*")):
        if (path / MANIFEST).is_file():
            yield path.name, path


def publish(state: Path, there: Path) -> int:
    """Put a storage's packages, each in one file, and its record in place of what was there; the bytes of all. A package of which
    the same is published stays: it may have been told anew since it was measured."""
    draft = there.with_name(f".{there.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    with unpacked(there) as before:
        for name, package in packages(state):
            if name in before and _observed(before[name]) == _observed(package):
                shutil.copyfile(there / f"{name}{ENDING}", draft / f"{name}{ENDING}")
            else:
                (draft / f"{name}{ENDING}").write_bytes(packed(package))
    shutil.copyfile(state / FILE, draft / FILE)
    seal(draft)
    shutil.rmtree(there, ignore_errors=True)
    draft.rename(there)
    return sum(path.stat().st_size for path in there.iterdir())


def _observed(package: Path) -> set[str]:
    """What was measured, by its hashes."""
    lines = (package / MANIFEST).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line.partition("  ")[2].startswith(f"{RAW}/")}


def lighten(package: Path) -> None:
    """Its drawings with fewer colours, which is most of its weight; what is drawn stands in series/ and is not touched."""
    from PIL import Image  # comes with matplotlib

    for drawing in sorted((package / "figures").glob("*.png")):
        with Image.open(drawing) as image:
            fewer = image.convert("RGB").quantize(_COLOURS)
        fewer.save(drawing, optimize=True)
    seal(package)


def packed(package: Path) -> bytes:
    """The same bytes for the same files: no owner, no times, in the order of the names."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted([*files_of(package), MANIFEST]):
            data = (package / name).read_bytes()
            member = tarfile.TarInfo(f"{package.name}/{name}")
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return lzma.compress(plain.getvalue(), preset=9)


def _extract(archive: tarfile.TarFile, directory: Path) -> None:
    """Write the regular files of an archive; `extractall(filter=…)` does not exist before Python 3.11.4."""
    for member in archive:
        target = (directory / member.name).resolve()
        content = archive.extractfile(member)
        if content is None or not target.is_relative_to(directory.resolve()):
            raise ValueError(f"{archive.name}: {member.name!r} is no regular file below the package")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())


@contextmanager
def unpacked(there: Path) -> Iterator[dict[str, Path]]:
    """The packages of a published storage by name, as directories, while the block lasts."""
    with TemporaryDirectory(prefix="edbench-results-") as directory:
        for file in sorted(there.glob(f"*{ENDING}")):
            with tarfile.open(file) as archive:
                _extract(archive, Path(directory))
        yield {file.name.removesuffix(ENDING): Path(directory, file.name.removesuffix(ENDING))
               for file in sorted(there.glob(f"*{ENDING}"))}  # fmt: skip
