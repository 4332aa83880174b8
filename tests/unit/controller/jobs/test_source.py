"""What is looked at before a job is created."""

import base64
import os
import tracemalloc
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import MemoryRecorder

import controller.jobs.source
from controller.jobs.create import copy_source, lpt, remove_copies, split_source
from controller.jobs.directories import hand_over, hand_over_tree
from controller.jobs.source import custodians_of, first_tasks, prepare_source, refuse_own_output
from core.errors import StorageFault, UsageError
from core.imported import LOAD_DIRECTORY, RECORDS, Imported, write_imported
from core.operations import Op
from core.records import Phase
from core.settings import Settings
from core.storage import layer as storage_listing
from core.storage.layer import Storage
from worker.inspect.tree import find_loose

FILER = Storage()


def test_a_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        prepare_source(FILER, tmp_path / "nope")


def test_a_source_that_cannot_be_looked_at_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"cannot be accessed .*check that it is mounted"):
        prepare_source(FILER, tmp_path / "loop" / "source")


def test_a_file_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(UsageError, match="not a directory"):
        prepare_source(FILER, tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_source_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o000)
    try:
        with pytest.raises(UsageError, match="cannot be listed"):
            prepare_source(FILER, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_first_level_directories_are_custodians(tmp_path: Path) -> None:
    for name in (b"zoe", b"\xff\xfe", b"Anna"):
        (tmp_path / os.fsdecode(name)).mkdir()
    (tmp_path / "stray.txt").write_bytes(b"x")
    source = prepare_source(FILER, tmp_path)
    assert [(c.number, c.name) for c in custodians_of(source)] == [
        (0, b"Anna"),
        (1, b"zoe"),
        (2, b"\xff\xfe"),
        (3, b"_root"),
    ]
    tasks = first_tasks(source)
    assert {task.phase for task in tasks} == {Phase.WALK}
    directories = [base64.b64decode(task.payload["directories"][0]) for task in tasks]
    assert directories == [b"Anna", b"zoe", b"\xff\xfe", b""]
    assert [task.payload["files_only"] for task in tasks] == [False, False, False, True]
    assert [task.payload["custodian"] for task in tasks] == [0, 1, 2, 3]


def test_what_an_import_keeps_beside_its_files_is_no_custodian(tmp_path: Path) -> None:
    """And an import that was cut short is no source: nobody would know which records it lacks."""
    for name in ("ann", f"{LOAD_DIRECTORY}/{RECORDS}"):
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"import was not finished.*import again"):
        prepare_source(FILER, tmp_path)
    write_imported(tmp_path, Imported(load_file="x.dat", records=1, custodians={"ann": 1}))
    source = prepare_source(FILER, tmp_path)
    assert (source.imported, source.directories) == (True, (b"ann",))
    (tmp_path / "ann" / "file").touch()
    assert not prepare_source(FILER, tmp_path / "ann").imported


def test_a_directory_called_root_shares_its_custodian(tmp_path: Path) -> None:
    """Two custodians of one name would be one person counted twice."""
    (tmp_path / "_root").mkdir()
    (tmp_path / "stray.txt").write_bytes(b"x")
    source = prepare_source(FILER, tmp_path)
    assert [c.name for c in custodians_of(source)] == [b"_root"]
    assert [task.payload["custodian"] for task in first_tasks(source)] == [0, 0]


def test_a_directory_of_very_many_directories_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would be a custodian, and every slot reads their names; files above them are as many as there are."""
    monkeypatch.setattr(controller.jobs.source, "MOST_CUSTODIANS", 2)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for n in range(9):
        (tmp_path / f"{n}.txt").touch()
    assert prepare_source(FILER, tmp_path).others == 9
    (tmp_path / "c").mkdir()
    with pytest.raises(UsageError, match=r"more than 2 directories.* give its parent directory"):
        prepare_source(FILER, tmp_path)


@pytest.mark.parametrize("directories", [(), ("a",), ("a/b/c", "d")])
def test_a_source_without_files_is_refused(tmp_path: Path, directories: tuple[str, ...]) -> None:
    """An unmounted file system looks like this, and a job over it would measure nothing; one empty file is enough."""
    for name in directories:
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=rf"{tmp_path} is empty.*check its mount"):
        prepare_source(FILER, tmp_path)
    (tmp_path / (directories[-1] if directories else "") / "file").touch()
    assert len(first_tasks(prepare_source(FILER, tmp_path))) == max(1, len(directories))


def test_a_corpus_is_entered_at_data(tmp_path: Path) -> None:
    """The manifest is no evidence: the source of a corpus is its `data`."""
    (tmp_path / "data" / "anna").mkdir(parents=True)
    (tmp_path / "data" / "anna" / "file").touch()
    (tmp_path / "manifest.parquet").write_bytes(b"")
    (tmp_path / "dataset.json").write_text("{}")
    source = prepare_source(FILER, tmp_path)
    assert source.path == os.fsencode(tmp_path / "data")
    assert source.manifest == tmp_path / "manifest.parquet"
    assert source.corpus
    assert source.inode == (tmp_path / "data").stat().st_ino
    assert prepare_source(FILER, tmp_path / "data").manifest == source.manifest


def test_evidence_that_looks_like_a_corpus_loses_nothing(tmp_path: Path) -> None:
    """A folder `data` and a file that is called as a manifest: everything beside is looked at, or it is refused."""
    for name in ("data", "bob"):
        (tmp_path / name).mkdir()
    (tmp_path / "manifest.parquet").touch()
    source = prepare_source(FILER, tmp_path)
    assert (source.path, source.directories, source.manifest) == (os.fsencode(tmp_path), (b"bob", b"data"), None)
    (tmp_path / "dataset.json").touch()
    with pytest.raises(
        UsageError, match=r"is a generated corpus, .* also contains bob: give .*/data, or move bob away"
    ):
        prepare_source(FILER, tmp_path)


def test_a_source_may_not_hold_what_the_job_writes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").touch()
    source = prepare_source(FILER, tmp_path / "in")
    good = Settings(storage=tmp_path / "store", scratch=tmp_path / "scratch")
    refuse_own_output(source, good)
    refuse_own_output(source, Settings(storage=tmp_path / "input", scratch=tmp_path / "scratch"))
    with pytest.raises(UsageError, match="EDBENCH_STORAGE"):
        refuse_own_output(source, Settings(storage=tmp_path / "in" / "store", scratch=tmp_path / "scratch"))
    (tmp_path / "link").symlink_to(tmp_path / "in")
    with pytest.raises(UsageError, match="EDBENCH_SCRATCH"):
        refuse_own_output(source, Settings(storage=tmp_path / "store", scratch=tmp_path / "link" / "scratch"))


_FEW, _MANY, _AT_ONCE = 2_000, 8_000, 200


def _filled(folder: Path, number: int) -> Path:
    """A directory of two custodians, one of them with so many files, and as many above them."""
    for name in ("ann", "bob"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for n in range(number):
        (folder / f"{n:06}").touch()
        (folder / "ann" / f"{n:06}").touch()
    return folder


def _prepared(source: Path) -> None:
    assert prepare_source(Storage(), source).directories == (b"ann", b"bob")


def _split(source: Path) -> None:
    storage = Storage()
    assert len(split_source(storage, prepare_source(storage, source), 2)) == 2


def _inspected(source: Path) -> None:
    files = sum(1 for _ in os.scandir(source / "ann"))
    assert sum(1 for _ in find_loose(Storage(), str(source))) == 2 * files


def _peak(work: Callable[[Path], None], source: Path) -> int:
    tracemalloc.start()
    try:
        work(source)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One with few entries, one with many."""
    return _filled(tmp_path_factory.mktemp("few"), _FEW), _filled(tmp_path_factory.mktemp("many"), _MANY)


@pytest.mark.parametrize("work", [_prepared, _split, _inspected])
def test_memory_does_not_grow_with_a_directory(
    sources: tuple[Path, Path], work: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_listing, "AT_ONCE", _AT_ONCE)
    few, many = sources
    _peak(work, few)  # what is made once and stays
    assert _peak(work, many) < 1.3 * _peak(work, few)


_SIZES = st.dictionaries(st.binary(min_size=1, max_size=4), st.integers(0, 1_000), min_size=1, max_size=20)


@given(_SIZES, st.integers(1, 5))
def test_every_custodian_goes_to_one_part_and_parts_are_about_equal(sizes: dict[bytes, int], parts: int) -> None:
    """Promise: nobody is lost or doubled; by Graham's bound no part is over 4/3 of what the best division has."""
    shares = lpt(sizes, sorted(sizes), parts)
    assert sorted(name for share in shares for name in share) == sorted(sizes)
    best_possible = max(sum(sizes.values()) / parts, max(sizes.values()))
    last = sorted(sizes.values(), reverse=True)
    if len(last) > parts:
        best_possible = max(best_possible, last[parts - 1] + last[parts])
    assert max(sum(sizes[n] for n in share) for share in shares) <= best_possible * 4 / 3 + 1e-9
    if len(sizes) >= parts:
        assert all(shares)


def _tree(root: Path, **files: int) -> Path:
    for custodian, number in files.items():
        (root / custodian / "inbox").mkdir(parents=True)
        for n in range(number):
            (root / custodian / "inbox" / f"{n}.txt").write_text("x")
    return root


def test_without_a_manifest_entries_decide(tmp_path: Path) -> None:
    """Promise: the custodian with many files stands alone, and files above the custodians are some part's once."""
    (_tree(tmp_path, big=9, small=2, tiny=1) / "stray.txt").write_text("x")
    first, second = split_source(FILER, prepare_source(FILER, tmp_path), 2)
    assert first.directories == (b"big",)
    assert [c.name for c in custodians_of(second)] == [b"small", b"tiny", b"_root"]
    assert (first.others, second.others) == (0, 1)


def test_more_databases_than_custodians_are_refused(tmp_path: Path) -> None:
    """Promise: no database gets a job without anything to do; files above the custodians count as one."""
    source = prepare_source(FILER, _tree(tmp_path, only=3))
    with pytest.raises(UsageError, match="has 1 for 2 databases"):
        split_source(FILER, source, 2)
    (tmp_path / "stray.txt").write_text("x")
    shares = split_source(FILER, prepare_source(FILER, tmp_path), 2)
    assert [[c.name for c in custodians_of(share)] for share in shares] == [[b"only"], [b"_root"]]


def test_root_gives_the_directory_to_the_owner_of_the_storage_root(tmp_path: Path) -> None:
    """Workers in containers are not root: what root makes for them on the filer must be theirs, every level of it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    job = tmp_path / "jobs" / "j"
    job.mkdir(parents=True)
    os.chown(tmp_path, 1234, 1234)
    hand_over(os.fsencode(job), tmp_path)
    assert [p.stat().st_uid for p in (job, job.parent)] == [1234, 1234]


def test_a_storage_root_of_our_own_changes_nothing(tmp_path: Path) -> None:
    job = tmp_path / "jobs" / "j"
    job.mkdir(parents=True)
    hand_over(os.fsencode(job), tmp_path)
    assert job.stat().st_uid == os.geteuid()


def test_what_a_link_leads_to_is_not_given_away(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    secret = tmp_path / "of root"
    (secret / "j").mkdir(parents=True)
    storage = tmp_path / "storage"
    (storage / "jobs").mkdir(parents=True)
    os.chown(storage, 1234, 1234)
    (storage / "jobs" / "j").symlink_to(secret)
    hand_over(os.fsencode(storage / "jobs" / "j"), storage)
    (storage / "linked").symlink_to(secret)
    with pytest.raises(StorageFault):
        hand_over(os.fsencode(storage / "linked" / "j"), storage)
    assert [p.stat().st_uid for p in (secret, secret / "j")] == [0, 0]


def test_a_result_with_all_its_files_belongs_to_the_owner_of_the_storage_root(tmp_path: Path) -> None:
    """An experiment that root ran on the host is read, described and removed by the containers' user; a link and a second name of a
    file of root's are left as they are."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    result = tmp_path / "storage" / "results" / "r"
    (result / "raw" / "runs").mkdir(parents=True)
    (result / "raw" / "runs" / "000.json.gz").write_bytes(b"x")
    secret = tmp_path / "of root"
    secret.write_text("x")
    (result / "link").symlink_to(secret)
    os.link(secret, result / "second name")
    os.chown(tmp_path / "storage", 1234, 1234)
    hand_over_tree(result, tmp_path / "storage")
    ours = (result.parent, result, result / "raw", result / "raw" / "runs", result / "raw" / "runs" / "000.json.gz")
    assert {path.stat().st_uid for path in ours} == {1234}
    assert secret.stat().st_uid == 0


def test_a_copy_is_the_source_again(tmp_path: Path) -> None:
    """Promise: same names (also those that are no text) and same bytes, through the storage layer, removed as one."""
    source, root = tmp_path / "source", tmp_path / "root"
    (source / "a" / "empty").mkdir(parents=True)
    (source / "a" / "big").write_bytes(os.urandom(3_000_000))
    (source / "a" / os.fsdecode(b"\xff.txt")).write_bytes(b"")
    recorder = MemoryRecorder()
    storage, group = Storage(recorder), uuid.uuid4()
    made = copy_source(storage, root, group, "db2", prepare_source(storage, source))
    copied = Path(os.fsdecode(made.path))
    assert made.directories == (b"a",)
    assert copied.is_relative_to(root / "corpora")
    names = sorted(path.relative_to(source) for path in source.rglob("*"))
    assert sorted(path.relative_to(copied) for path in copied.rglob("*")) == names
    for name in names:
        assert (copied / name).is_dir() or (copied / name).read_bytes() == (source / name).read_bytes()
    assert {record.op for record in recorder.records} >= {Op.SCAN, Op.OPEN, Op.READ, Op.CREATE, Op.WRITE, Op.MKDIR}
    remove_copies(storage, root, group)
    assert not list((root / "corpora").iterdir())


def test_what_cannot_be_copied_is_reported(tmp_path: Path) -> None:
    """Promise: a copy that would not be the source again is refused, with the way out."""
    (tmp_path / "source" / "a").mkdir(parents=True)
    (tmp_path / "source" / "a" / "link").symlink_to("/etc/hostname")
    storage = Storage()
    with pytest.raises(UsageError, match="remove --source-copies"):
        copy_source(storage, tmp_path, uuid.uuid4(), "db1", prepare_source(storage, tmp_path / "source"))


def test_two_names_that_are_one_on_the_storage_root_are_no_copy(tmp_path: Path) -> None:
    """Promise: nothing of the source is put over something else of it, as it was where the storage root does not tell upper
    and lower case apart; databases whose names are one there share no copy either."""
    (tmp_path / "source" / "a").mkdir(parents=True)
    (tmp_path / "source" / "a" / "file").touch()
    storage, group = Storage(), uuid.uuid4()
    source = prepare_source(storage, tmp_path / "source")
    copy_source(storage, tmp_path, group, "db1", source)
    with pytest.raises(UsageError, match=r"already .*ignores case.*--source-copies"):
        copy_source(storage, tmp_path, group, "db1", source)
