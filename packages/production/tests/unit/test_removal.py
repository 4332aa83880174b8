"""What is removed with a job is what the job wrote; what is not its own stays, and is told."""

import errno
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import StorageFault
from core.job_types import JobType
from core.storage.layer import Storage
from production.layout import Place
from production.options import MARKER, ProductionChoice
from production.output_directory import Wrote, remove_output

_PLACES = (Place(1, 1), Place(1, 2), Place(2, 1))
_FILES = ("NATIVES/0001/A00000001.eml", "TEXT/0001/A00000001.txt")
_OTHERS = (
    "loadfile.notes.txt",
    "loadfile.dat.bak",
    "hashes.csv.sig",
    "metadata.old",
    "loadfile.dat.mine.tmp",
    "VOLUME",
)


class Output:
    """An output directory that a job has taken."""

    def __init__(self, home: Path, kind: JobType = JobType.EXPORT) -> None:
        self.path, self.job, self.storage = home / "out", uuid.uuid4(), Storage()
        self.choice = ProductionChoice(type=kind, out=str(self.path), prefix="A")
        self.rows: dict[Place, list[str]] = {}
        self.storage.keep_below(os.fsencode(self.path), own=True)
        self.path.mkdir(parents=True)
        (self.path / MARKER).write_text(json.dumps({"job": self.job.hex}))

    def write(self, *names: str) -> None:
        """Files, with what is above them."""
        for name in names:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text("x")

    def produce(self) -> None:
        """Files of items, with their rows."""
        for place in _PLACES:
            names = [f"VOL{place.volume:03d}/{name.replace('0001', f'{place.folder:04d}', 1)}" for name in _FILES]
            self.rows[place] = names
            self.write(*names)

    def remove(self, *reports: str) -> str:
        """With the job, which has come to its end where it has `reports`."""
        of = Wrote(places=_PLACES, files=lambda place: self.rows.get(place, []), reports=reports)
        try:
            return remove_output(self.storage, self.choice, self.job, of)
        finally:
            self.storage.let_go()

    def there(self) -> set[str]:
        """All but directories."""
        return {
            str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_symlink() or not path.is_dir()
        }


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        (JobType.EXPORT, ("loadfile.dat", "loadfile.xml", "loadfile.csv", "loadfile.opt"), ("metadata.csv",)),
        (JobType.EXTRACTION, ("metadata.csv", "metadata.jsonl"), ("loadfile.dat",)),
        (JobType.PROCESSING, ("metadata.csv", "loadfile.opt"), ("loadfile.xml",)),
    ],
)
def test_what_others_put_beside_a_production_stays(
    tmp_path: Path, kind: JobType, ours: tuple[str, ...], theirs: tuple[str, ...]
) -> None:
    out = Output(tmp_path, kind)
    out.produce()
    out.write("hashes.csv", *ours, f"{ours[0]}.0123456789ab.tmp", *_OTHERS, *theirs)
    reported = out.remove()
    assert out.there() == {*_OTHERS, *theirs}
    assert f"{out.path} contains files that job {out.job} did not write, which stay: " in reported
    assert "\n" not in reported
    assert reported.endswith(f" and {len(_OTHERS) + len(theirs) - 5} more")


def test_everything_of_the_job_goes(tmp_path: Path) -> None:
    out = Output(tmp_path)
    out.produce()
    out.write("hashes.csv", "loadfile.dat")
    assert out.remove("hashes.csv", "loadfile.dat") == ""
    assert list(out.path.iterdir()) == []
    assert out.remove("hashes.csv") == ""  # it is nobody's now


@pytest.mark.parametrize(
    "theirs",
    [
        "VOL123/NATIVES/0001/A00000009.eml",  # a volume that the job never had
        "vol001.txt",
        "VOL001/readme.txt",
        "VOL001/REDACTED/0001/A00000001.eml",
        "VOL001/NATIVES/0003/A00000001.eml",  # a folder that the job never had
        "VOL001/NATIVES/0001/privileged notes.docx",
        "VOL001/NATIVES/0001/A00000001.eml.bak",
        "VOL002/TEXT/0001/B00000001.txt",  # another prefix
        "VOL002/NATIVES/0001/deeper/A00000001.eml",
        "VOL001/NATIVES/0002/A1.eml",  # too few digits
    ],
)
@pytest.mark.parametrize("reports", [(), ("hashes.csv",)], ids=["cancelled", "completed"])
def test_what_others_put_into_a_production_stays(tmp_path: Path, theirs: str, reports: tuple[str, ...]) -> None:
    out = Output(tmp_path)
    out.produce()
    out.write(theirs, *reports)
    reported = out.remove(*reports)
    assert out.there() == {theirs}
    named = reported.rpartition(": ")[2]
    assert theirs == named or theirs.startswith(f"{named}/")
    assert not (out.path / MARKER).exists()


def test_what_no_row_records_goes_with_a_job_that_did_not_end(tmp_path: Path) -> None:
    """A slot that died had written it. Of one that did, every file has a row, and what is called alike is somebody else's."""
    lost = ("VOL001/NATIVES/0001/A00000007.pdf", "VOL001/IMAGES/0002/A00000007.tif")
    draft = "VOL002/NATIVES/0001/A00000008.eml.0123456789ab.tmp"
    cancelled, completed = (Output(tmp_path / name) for name in ("cancelled", "completed"))
    for out in (cancelled, completed):
        out.produce()
        out.write("hashes.csv", *lost, draft)
    assert cancelled.remove() == ""
    assert list(cancelled.path.iterdir()) == []
    assert "A00000007.tif, VOL001/NATIVES" in completed.remove("hashes.csv")
    assert completed.there() == set(lost)


def _directory(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("x")


@pytest.mark.parametrize("at", ["VOL001/NATIVES/0001/A00000001.eml", "VOL001/NATIVES", "VOL001", "hashes.csv"])
@pytest.mark.parametrize(
    "put",
    [_directory, lambda path: path.symlink_to("/etc"), lambda path: path.write_text("x")],
    ids=["dir", "link", "file"],
)
def test_what_was_put_in_the_place_of_something_of_the_job(
    tmp_path: Path, at: str, put: Callable[[Path], object]
) -> None:
    out = Output(tmp_path)
    out.produce()
    out.write("hashes.csv")
    place, aside = out.path / at, tmp_path / "aside"
    os.rename(place, aside)
    put(place)
    reported = out.remove("hashes.csv")
    assert Path("/etc/passwd").exists()
    assert aside.exists()
    for name in out.there():
        assert name.startswith(at), name
        assert at in reported
    if place.is_dir() and not place.is_symlink():
        assert (place / "mine").exists()


def test_a_directory_of_another_job_is_left_alone(tmp_path: Path) -> None:
    out = Output(tmp_path)
    out.produce()
    before = out.there()
    out.job = uuid.uuid4()
    assert out.remove("hashes.csv") == ""
    assert out.there() == before


def test_what_cannot_be_removed_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filer that fails is not somebody else's file: the deletion says so, and can be done again."""
    out = Output(tmp_path)
    out.produce()

    def broken(path: bytes, **_: bool) -> None:
        raise StorageFault("cannot remove it", errno=errno.EROFS)

    with monkeypatch.context() as patch:
        patch.setattr(out.storage, "remove", broken)
        with pytest.raises(StorageFault):
            out.remove()
    assert (out.path / MARKER).exists()
    assert out.remove() == ""
    assert list(out.path.iterdir()) == []
