"""The crew without one: seats for workers, shares of clients, what an order may say, and what a member is refused for."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.celery_app import queues_of
from core.crew import Envelope, Hello, Lease, MemberOrder, Place, ProvisionerOrder, Sight, place_at, resolved
from core.errors import UsageError
from core.settings import DatabaseAddress, Settings
from experiments.crew.admission import seats, usable
from experiments.crew.sight import refuse_other_mount, refuse_other_storage, sign_of, token_in
from sql.runs import RunMark, read_mark, run_settings

RUN = "0123456789abcdef"


def member(name: str, *, workers: int = 1, boot: str = "b", device: int = 1, storage: Path = Path("/s")) -> Hello:
    facts = {"boot_id": boot, "processors": 2, "memory_bytes": 100}
    mounted = {"device": device, "mount": {"type": "nfs4", "source": "filer:/x", "options": []}}
    return Hello(
        id=name, name=name, version="1", host=facts, storage=mounted, roots={"storage": str(storage)}, workers=workers
    )


def test_workers_are_spread_over_client_caches_and_no_member_is_there_for_nothing() -> None:
    """Two containers on one host and one on another: the second worker goes to the other host; names are numbered through."""
    crew = [member("a"), member("b"), member("c", boot="other", workers=2)]
    assert [seat.member.name for seat in seats(crew, 2)] == ["a", "c"]
    dealt = seats(crew, 4)
    assert [(seat.member.name, seat.workers, seat.first, seat.host) for seat in dealt] == [
        ("a", 1, 1, "a"), ("b", 1, 2, "a"), ("c", 2, 3, "c"),
    ]  # fmt: skip
    assert usable(crew, "processors") == 4, "a machine counts once"
    for limited in crew:
        limited.host.update(processors=0.5, machine_processors=2)
    assert usable(crew, "processors") == 1.5, "limits are added up"


def test_two_clients_of_one_host_have_caches_of_their_own() -> None:
    """Mounts in namespaces of one kernel have different devices, and share no page."""
    assert {seat.host for seat in seats([member("a"), member("b", device=2)], 2)} == {"a", "b"}


def test_two_members_of_one_name_are_refused() -> None:
    twins = [member("twin"), msgspec.structs.replace(member("twin", boot="other"), id="another")]
    with pytest.raises(UsageError, match="two members have the name twin: start one of them with another --member"):
        seats(twins, 2)


def test_what_a_member_is_not_to_do_is_in_no_queue_of_its() -> None:
    assert queues_of(["db1"], ["h1", "h2", "h3"]) == ["edbench.db1", "edbench.db1.not.h2", "edbench.db1.not.h3"]
    assert queues_of(["db1", "db2"], []) == ["edbench.db1", "edbench.db2"]
    assert queues_of(["db1"], [], RUN) == [f"edbench.run.{RUN}.db1"]


def test_a_run_has_databases_of_its_own_under_the_same_names() -> None:
    urls = {"db1": "postgresql+psycopg2://u:p@one:5432/edbench", "db2": "postgresql+psycopg2://u:p@/db2?host=%2Frun"}
    system = Settings(databases=tuple(DatabaseAddress(name=name, url=url) for name, url in urls.items()))
    mark = RunMark(run=RUN, databases=2, hosts=("h1", "h2"))
    assert read_mark(f"edbench_run_{RUN}_1", str(mark)) == mark
    assert read_mark("edbench_run_x", str(mark)) is None
    assert read_mark(f"edbench_run_{RUN}_1", "a comment") is None
    there = run_settings(system, mark)
    assert [(one.name, one.url) for one in there.databases] == [
        ("db1", f"postgresql+psycopg2://u:p@one:5432/edbench_run_{RUN}_1"),
        ("db2", f"postgresql+psycopg2://u:p@/edbench_run_{RUN}_2?host=%2Frun"),
    ]
    assert there.run == RUN
    assert len(run_settings(system, RunMark(run=RUN, databases=1)).databases) == 1


def _lease(**changes: Any) -> dict[str, Any]:
    place = {"root": "storage", "path": "experiments/x"}
    return {"do": "lease", "run": RUN, "databases": 1, "workers": 1, "slots": 4, "place": place} | changes


@pytest.mark.parametrize(
    "order",
    [
        _lease(database="postgres"),
        _lease(url="postgresql+psycopg2://evil/"),
        _lease(environment={"LD_PRELOAD": "/tmp/x.so"}),
        _lease(command=["sh"]),
        _lease(run="edbench"),
        _lease(run=f"{RUN}; DROP DATABASE edbench"),
        _lease(run=f"{RUN}\n"),
        _lease(run=RUN.upper()),
        _lease(place={"root": "scratch", "path": "."}),
        _lease(place="/etc"),
        _lease(workers=10**6),
        _lease(databases=0),
        _lease(hosts=["../h"]),
        {"do": "run", "command": "sh"},
        {"do": "make", "run": RUN, "databases": 1},
    ],
)
def test_an_order_has_a_run_counts_and_a_place_and_nothing_else(order: dict[str, Any]) -> None:
    """Anything more, anything else, and the provisioner's own orders are refused by a member."""
    assert isinstance(msgspec.json.decode(msgspec.json.encode(_lease()), type=MemberOrder), Lease)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(order), type=MemberOrder)


@pytest.mark.parametrize("run", ["edbench", "", f"{RUN}x", "postgres", '"; DROP DATABASE edbench --'])
@pytest.mark.parametrize("do", ["make", "remove"])
def test_the_provisioner_is_ordered_databases_of_runs_alone(do: str, run: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode({"do": do, "run": run, "databases": 1}), type=ProvisionerOrder)


def test_an_answer_goes_to_a_list_of_its_order_alone() -> None:
    for wrong in ("x", "../members", "0" * 31, f"{'0' * 32}:x"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(msgspec.json.encode({"id": wrong, "order": {}}), type=Envelope)


def test_a_place_leads_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "storage"
    (root / "experiments/x").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    roots = {"storage": root}
    assert resolved(Place(root="storage", path="experiments/x"), roots) == root / "experiments/x"
    assert resolved(Place(root="storage", path="."), roots) == root
    for wrong in (
        "../storage2",
        "experiments/../../x",
        "/etc",
        str(tmp_path),
        "out",
        "out/x",
        "a\0b",
        "experiments/..",
    ):
        with pytest.raises(UsageError, match="is not below the storage root"):
            resolved(Place(root="storage", path=wrong), roots)
    with pytest.raises(UsageError, match="has no root evidence"):
        resolved(Place(root="evidence", path="."), roots)
    assert place_at(root / "experiments/x", roots) == Place(root="storage", path="experiments/x")
    assert place_at(tmp_path, roots) is None


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Path, Path, str]]:
    """A storage root with a corpus in it, a token there, and what that holds."""
    storage = tmp_path / "storage"
    (storage / "corpus").mkdir(parents=True)
    with token_in(storage) as (token, text):
        yield storage, token, text
    assert [path.name for path in storage.iterdir()] == ["corpus"], "nothing of a look stays"


def _sight(storage: Path, token: Path) -> Sight:
    """Of a member that sees the same, and has signed."""
    sign_of(token, "h2").write_text(token.read_text())
    found = os.stat(storage / "corpus")
    return Sight(token=token.read_text(), source=(found.st_dev, found.st_ino))


def test_a_member_is_refused_unless_it_sees_the_same_storage(asked: tuple[Path, Path, str], tmp_path: Path) -> None:
    storage, token, text = asked
    hello, source = member("h2", storage=storage), storage / "corpus"
    refuse_other_storage(hello, _sight(storage, token), storage, token, text, source)
    good = _sight(storage, token)
    refusals = {
        "has a different storage at .*nfs4 of filer:/x there, .* of .* here": [
            msgspec.structs.replace(good, token="", unseen={"token": "No such file or directory"}),
            msgspec.structs.replace(good, token="another"),
        ],
        r"cannot read files that this host writes .* \(Permission denied\): grant it read access": [
            msgspec.structs.replace(good, token="", unseen={"token": "Permission denied"})
        ],
        r"cannot write to the storage .* \(Read-only file system\): grant it write access": [
            msgspec.structs.replace(good, unseen={"sign": "Read-only file system"})
        ],
        r"cannot see the source .*/corpus \(No such file": [
            msgspec.structs.replace(good, unseen={"source": "No such file or directory"})
        ],
        r"cannot see the source .* \(it is another directory there\)": [
            msgspec.structs.replace(good, source=(good.source[0], good.source[1] + 1))
        ],
    }
    for refusal, seen in refusals.items():
        for sight in seen:
            with pytest.raises(UsageError, match=f"member h2 {refusal}"):
                refuse_other_storage(hello, sight, storage, token, text, source)
    sign_of(token, "h2").unlink()  # of a copy, the token reads right, and what the member writes never comes back
    with pytest.raises(UsageError, match=r"files that member h2 writes to the storage .* do not appear on this host"):
        refuse_other_storage(hello, good, storage, token, text, source)


def test_members_that_mount_it_with_other_options_are_refused() -> None:
    """`noac` on one of them is another client, and results that differ in it are not compared; whose address it is does not count."""

    def place(*options: str, source: str = "filer:/x") -> dict[str, object]:
        return {"mount": {"type": "nfs4", "source": source, "options": list(options)}}

    ours = place("rw", "vers=4.2", "clientaddr=10.0.0.1")
    refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("vers=4.2", "rw", "clientaddr=10.0.0.2")))
    with pytest.raises(UsageError, match="different options: nothing more on a and noac on b; use the same options"):
        refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("rw", "vers=4.2", "noac")))
    with pytest.raises(UsageError, match=r"different options: vers=4\.2 on a and vers=3 on b"):
        refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("rw", "vers=3")))
    with pytest.raises(UsageError, match="in different ways: nfs4 of filer:/x and nfs4 of filer:/y"):
        refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("rw", "vers=4.2", source="filer:/y")))
