"""What `edbench doctor` finds on this machine and in places that are wrong."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from servers import superuser_url

from controller import doctor as checks
from controller.doctor import (
    Finding,
    Level,
    apart,
    judge_mount,
    misspelt,
    open_files,
    packages,
    place,
    run_checks,
    shared_memory,
)
from core.clock import SystemClock
from core.mounts import MountEntry, mount_of
from core.settings import DatabaseAddress, Settings

CLOCK = SystemClock()


def bads(findings: list[Finding]) -> list[Finding]:
    """The bad ones."""
    return [f for f in findings if f.level is Level.BAD]


def test_a_sound_machine_has_nothing_bad_and_is_left_as_it_was(open_dir: Path) -> None:
    """Every check runs; whatever is not ok says what to do; and no file is left behind, not even the directories."""
    root = open_dir / "doctor"
    root.mkdir()
    findings = list(run_checks(Settings(storage=root / "storage", scratch=root / "scratch"), CLOCK, ()))
    assert bads(findings) == []
    assert all(f.fix for f in findings if f.level is not Level.OK)
    text = "\n".join(f.what for f in findings)
    for word in (
        "Python",
        "libmagic",
        "PostgreSQL",
        "fsync",
        "syncfs",
        "renamed",
        "case matters",
        "GB free",
        "/dev/shm",
        "open files",
    ):
        assert word in text
    assert list(root.iterdir()) == []


def test_a_misspelt_variable_is_named_with_the_one_that_is_meant() -> None:
    """Those of .env.example, which only containers use, are not."""
    (found,) = misspelt(["EDBENCH_STORAGE", "EDBENCH_SLOT", "HOME"])
    assert (found.level, "EDBENCH_SLOT," in found.what, "EDBENCH_SLOTS" in found.fix) == (Level.WARN, True, True)
    example = (Path(__file__).parents[3] / ".env.example").read_text()
    assert list(misspelt(re.findall(r"^#?(EDBENCH_\w+)=", example, re.MULTILINE))) == []


def test_a_server_that_cannot_make_the_tables_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """UNIQUE NULLS NOT DISTINCT came with PostgreSQL 15."""

    class Old:
        """Answers as PostgreSQL 14 does."""

        def __init__(self, *_: object, **__: object) -> None:
            self.dispose = self.scalar_one_or_none = lambda: None

        def transaction(self) -> nullcontext["Old"]:
            return nullcontext(self)

        def execute(self, _: object) -> "Old":
            return self

        def one(self) -> tuple[int, float]:
            return 140_011, CLOCK.now()

    monkeypatch.setattr("sql.session.Database", Old)
    first = next(checks.database(DatabaseAddress(name="db1", url=""), CLOCK))
    assert (first.level, first.fix) == (Level.BAD, "use PostgreSQL 15 or newer")


def test_storage_that_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    (finding,) = place(file, filer=True, clock=CLOCK)
    assert finding.level is Level.BAD
    assert "EDBENCH_STORAGE" in finding.fix


def test_storage_that_cannot_be_written() -> None:
    """A place where nothing can be made is bad even for root."""
    findings = list(place(Path("/proc/nowhere"), filer=False, clock=CLOCK))
    assert any("cannot write" in f.what and "EDBENCH_SCRATCH" in f.fix for f in bads(findings))


def test_same_file_system_is_reported(tmp_path: Path) -> None:
    """Storage and scratch side by side is a warning: their I/O would be measured together."""
    assert apart(tmp_path / "a", tmp_path / "b").level is Level.WARN


def test_packages_missing_and_wrong() -> None:
    missing, wrong, _ = packages(["no-such-package-edbench", "pytest<1"])
    assert (missing.level, wrong.level) == (Level.BAD, Level.WARN)
    assert "make setup" in missing.fix


def test_limits(tmp_path: Path) -> None:
    assert [open_files(n).level for n in (100, 600, 4096)] == [Level.BAD, Level.WARN, Level.OK]
    assert shared_memory(tmp_path / "none").level is Level.BAD


@pytest.mark.parametrize(
    ("kind", "options", "filer", "level"),
    [
        ("ext4", ("rw",), True, Level.OK),
        ("ext4", ("ro",), True, Level.BAD),
        ("tmpfs", ("rw",), True, Level.WARN),
        ("overlay", ("rw",), True, Level.WARN),
        ("nfs4", ("rw", "soft"), True, Level.WARN),
        ("nfs4", ("rw", "hard"), True, Level.OK),
        ("nfs4", ("rw", "hard"), False, Level.WARN),
        ("tmpfs", ("rw",), False, Level.OK),
    ],
)
def test_mounts_are_judged(kind: str, options: tuple[str, ...], filer: bool, level: Level) -> None:
    assert judge_mount(MountEntry(1, "8:1", "/m", kind, "source", options), filer=filer).level is level


def test_mount_of_a_real_directory() -> None:
    mount = mount_of(Path("/proc"))
    assert mount.kind == "proc"


def test_unreachable_services() -> None:
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url="postgresql+psycopg2://u:p@127.0.0.1:1/d"),),
        broker="redis://127.0.0.1:1/0",
    )
    assert [f.level for f in checks.reachable(settings, CLOCK)] == [Level.BAD, Level.BAD]
    assert "EDBENCH_BROKER" in checks.broker(None).fix


def test_reachable_services(services: Settings) -> None:
    findings = list(checks.reachable(services, CLOCK))
    assert bads(findings) == []
    assert any("its clock differs" in f.what for f in findings)


def test_a_login_that_may_do_everything_is_warned_of(services: Settings) -> None:
    """A superuser's password in an environment is a way onto the server's machine; the controller's own is not."""
    (address,) = services.databases
    url = superuser_url(services.scratch, database=address.name).replace("postgresql:", "postgresql+psycopg2:")
    found = list(checks.database(DatabaseAddress(name="db1", url=url), SystemClock()))
    (warning,) = (finding for finding in found if "superuser" in finding.what)
    assert warning.level is Level.WARN
    assert "docs/logins.md" in warning.fix
    assert not any("superuser" in finding.what for finding in checks.database(address, SystemClock()))
