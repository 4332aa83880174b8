"""Experiments on many hosts, without any: shares of the workers, names, and what a host is refused for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.options import hosts_wanted
from core.celery_app import queues_of
from core.errors import UsageError
from experiments.hosts.agent import host_of, worker_name
from experiments.hosts.crew import dealt
from experiments.hosts.fleet import Doubles
from experiments.hosts.meeting import parse_listen
from experiments.hosts.messages import Hello, Look, Sight
from experiments.hosts.players import Wanted, awaited, clients_by_host, slots_for
from experiments.hosts.sight import look_at, refuse_other_mount, refuse_other_storage, sign_of, token_in

HELLO = Hello(name="h2", incarnation="0" * 16, version="1")


def test_workers_are_dealt_out_evenly_and_no_host_is_there_for_nothing() -> None:
    """Shares differ by one at most; hosts that would have none are not asked."""
    assert dealt(7, 3) == [3, 2, 2]
    assert dealt(1, 4) == [1]
    assert dealt(4, 4) == [1, 1, 1, 1]


def test_whole_clones_fit_on_a_host() -> None:
    """Clients of one clone share memory: a host has slots for its share of clones, not of clients."""
    assert slots_for(clients=4, streams=1, hosts=2) == 2
    assert slots_for(clients=9, streams=3, hosts=2) == 6
    assert slots_for(clients=2, streams=8, hosts=4) == 2


def test_a_host_measures_the_clients_that_it_plays() -> None:
    """Whole clones, in turn; of a trace that is dealt out one host plays all."""
    assert clients_by_host(clients=9, streams=3, hosts=2) == [6, 3]
    assert clients_by_host(clients=7, streams=3, hosts=2) == [4, 3]
    assert clients_by_host(clients=2, streams=8, hosts=4) == [2]
    assert clients_by_host(clients=4, streams=1, hosts=4) == [1, 1, 1, 1]


def test_a_host_that_was_started_again_is_no_second_one() -> None:
    """Until the one that was killed is forgotten its name is there twice; two that both live are two hosts."""
    killed, again = HELLO, dataclasses.replace(HELLO, incarnation="1" * 16)
    doubles = Doubles()
    assert not doubles.among([dataclasses.replace(killed, beat=300)])
    for beat in (1, 2, 3):
        assert doubles.among([dataclasses.replace(killed, beat=301), dataclasses.replace(again, beat=beat)])
    assert not doubles.among([dataclasses.replace(again, beat=4)])
    assert doubles.among([killed, again])
    with pytest.raises(UsageError, match="two hosts have the name h2: join one of them with another --name"):
        doubles.among([dataclasses.replace(killed, beat=1), dataclasses.replace(again, beat=1)])


def test_a_worker_tells_its_host() -> None:
    """Whatever the host is called."""
    assert [host_of(worker_name(host, "w12")) for host in ("h1", "rack-3.example-w1")] == ["h1", "rack-3.example-w1"]


def test_what_a_host_is_not_to_do_is_in_no_queue_of_its() -> None:
    """And in those of all the others."""
    assert queues_of(["db1"], ["h1", "h2", "h3"]) == ["edbench.db1", "edbench.db1.not.h2", "edbench.db1.not.h3"]
    assert queues_of(["db1", "db2"], []) == ["edbench.db1", "edbench.db2"]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("10.0.0.1", ("10.0.0.1", 6390)), ("10.0.0.1:7000", ("10.0.0.1", 7000)), ("[fd00::1]:7000", ("fd00::1", 7000))],
)
def test_an_address_to_listen_at(text: str, parsed: tuple[str, int]) -> None:
    """With a port or without."""
    assert parse_listen(text) == parsed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host0",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:70000",
        "redis://10.0.0.1",
        "0.0.0.0",
        "[::]:7000",
        "10.0.0.256",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """In one line, with an example."""
    with pytest.raises(UsageError, match=r"--listen is .* 10\.0\.0\.1:6390"):
        parse_listen(text)


def test_hosts_and_where_they_are_awaited_belong_together() -> None:
    """Either alone means nothing."""
    assert hosts_wanted(None, None, 1.0) is None
    with pytest.raises(UsageError, match="--hosts requires --listen"):
        hosts_wanted(2, None, 1.0)
    with pytest.raises(UsageError, match="--listen requires --hosts"):
        hosts_wanted(None, "10.0.0.1", 1.0)
    with pytest.raises(UsageError, match="--hosts is 0"):
        hosts_wanted(0, "10.0.0.1", 1.0)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Look, str]]:
    """A storage root with a token, a source in it, and what the token holds."""
    (tmp_path / "storage" / "corpus").mkdir(parents=True)
    with token_in(tmp_path / "storage") as (token, text):
        yield Look(storage=str(tmp_path / "storage"), token=str(token), source=str(tmp_path / "storage/corpus")), text


def _elsewhere(look: Look, root: Path) -> Look:
    """The same paths, as a host sees them that has another directory there."""
    moved = {name: value.replace(look.storage, str(root)) for name, value in dataclasses.asdict(look).items()}
    return Look(**moved)


def test_a_host_with_the_same_storage_may_work(asked: tuple[Look, str]) -> None:
    """It reads the token, what it writes is read here, and nothing of that stays."""
    look, text = asked
    refuse_other_storage(HELLO, look_at(look, "h2"), look, text)
    assert sign_of(look.token, "h2").exists()


def test_nothing_of_a_look_stays(tmp_path: Path) -> None:
    """Neither the token nor a sign."""
    with token_in(tmp_path) as (token, _):
        look_at(Look(storage=str(tmp_path), token=str(token), source=str(tmp_path)), "h2")
        assert len(list(tmp_path.iterdir())) == 2
    assert not list(tmp_path.iterdir())


def test_a_host_that_does_not_see_the_storage(asked: tuple[Look, str], tmp_path: Path) -> None:
    """The path is not there: the host, the path and what to do are named."""
    look, text = asked
    sight = look_at(_elsewhere(look, tmp_path / "nothing"), "h2")
    with pytest.raises(UsageError, match=r"host h2 cannot see the storage .*/storage \(No such file.*: mount it"):
        refuse_other_storage(HELLO, sight, look, text)


def test_a_host_with_another_storage_at_the_path(asked: tuple[Look, str], tmp_path: Path) -> None:
    """A directory that forgot its mount, or another filer: what is mounted on either side is said."""
    look, text = asked
    (tmp_path / "other").mkdir()
    sight = look_at(_elsewhere(look, tmp_path / "other"), "h2")
    with pytest.raises(UsageError, match=r"host h2 has another storage at .* of .* there, .* of .* here"):
        refuse_other_storage(HELLO, sight, look, text)


def test_a_copy_of_the_storage_is_another_one(asked: tuple[Look, str], tmp_path: Path) -> None:
    """The token reads right, as it would from a replica; what the host writes never comes back."""
    look, text = asked
    copy = tmp_path / "copy"
    (copy / "corpus").mkdir(parents=True)
    elsewhere = _elsewhere(look, copy)
    Path(elsewhere.token).write_text(text)
    with pytest.raises(UsageError, match=r"files that host h2 writes to the storage .* do not appear here"):
        refuse_other_storage(HELLO, look_at(elsewhere, "h2"), look, text)


def test_a_host_whose_user_may_not_read_here(asked: tuple[Look, str]) -> None:
    """The storage is the same, the users are not: that is what is said."""
    look, text = asked
    sight = dataclasses.replace(look_at(look, "h2"), token="", unseen={"token": "Permission denied"})
    with pytest.raises(
        UsageError,
        match=r"host h2 cannot read files that this host writes .* \(Permission denied\): grant it read access",
    ):
        refuse_other_storage(HELLO, sight, look, text)


def test_a_host_without_the_source(asked: tuple[Look, str], tmp_path: Path) -> None:
    """The storage is shared, the corpus lies on a disk of the command's host."""
    look, text = asked
    sight = look_at(dataclasses.replace(look, source=str(tmp_path / "gone")), "h2")
    with pytest.raises(UsageError, match=r"host h2 cannot see the source .*/corpus \(No such file"):
        refuse_other_storage(HELLO, sight, look, text)


def test_another_directory_at_the_path_of_the_source(asked: tuple[Look, str], tmp_path: Path) -> None:
    """By its inode."""
    look, text = asked
    sight: Sight = look_at(dataclasses.replace(look, source=str(tmp_path)), "h2")
    with pytest.raises(UsageError, match=r"cannot see the source .* \(it is another directory there\)"):
        refuse_other_storage(HELLO, sight, look, text)


def test_hosts_that_mount_it_with_other_options_are_refused() -> None:
    """`noac` on one of them is another client, and results that differ in it are not compared; whose address it is does not count."""

    def place(*options: str, source: str = "filer:/x") -> dict[str, object]:
        return {"mount": {"type": "nfs4", "source": source, "options": list(options)}}

    ours = place("rw", "vers=4.2", "clientaddr=10.0.0.1")
    refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("vers=4.2", "rw", "clientaddr=10.0.0.2")))
    with pytest.raises(UsageError, match="different options: nothing more on a and noac on b; mount it alike"):
        refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("rw", "vers=4.2", "noac")))
    with pytest.raises(UsageError, match=r"different options: vers=4\.2 on a and vers=3 on b"):
        refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("rw", "vers=3")))
    with pytest.raises(UsageError, match="in different ways: nfs4 of filer:/x and nfs4 of filer:/y"):
        refuse_other_mount(Path("/mnt"), ("a", ours), ("b", place("rw", "vers=4.2", source="filer:/y")))


@pytest.mark.parametrize(("hosts", "said"), [(1, "1 host is awaited; "), (2, "2 hosts are awaited; ")])
def test_so_many_hosts_are_awaited(tmp_path: Path, hosts: int, said: str) -> None:
    wanted = Wanted(hosts=hosts, address="127.0.0.1", port=1, seconds=1.0)
    assert awaited(wanted, tmp_path).startswith(said)
