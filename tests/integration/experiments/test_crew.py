"""The crew with real services: members are processes, databases are made and removed, leases given and taken back."""

import contextlib
import dataclasses
import os
import re
import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import pytest
import redis
from commands import begin_worker
from forked import Forked
from installation import until
from memory_traces import write_trace
from replay_traces import reading_trace
from servers import superuser_url

from controller.databases import open_databases, refuse_experiment
from controller.jobs.create import create_discovery
from controller.jobs.jobs import cancel_job, pause_job, requeue_exceptions, resume_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import prepare_source
from core.clock import SystemClock
from core.crew import NULL_ROOT, Act, Lease, Look, Make, Place, Prepare, Remove, Return, database_name, raw
from core.errors import SystemFault, UsageError
from core.records import JobOptions, JobState
from core.roles import PROVISIONER, QUEUE_MANAGER, WORKER, Login
from core.services import embedded_services
from core.services.place import Home
from core.services.provisioner import make, remove, servers_of
from core.settings import Settings
from core.storage.layer import Storage
from experiments.crew.admission import Admission
from experiments.crew.lease import Leased
from experiments.crew.orders import Crew
from experiments.crew.system import System, held_system, run_databases
from experiments.workload import HostLost, Turn
from sql import runs
from sql.runs import RunMark
from sql.session import Database
from sql.workers import WORKERS

ROOT = Path(__file__).parents[3]
PATIENCE = 300.0
RUN = "0123456789abcdef"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Services with a provisioner, and a storage root."""
    home = tmp_path_factory.mktemp("crew")
    (home / "storage").mkdir()
    given = Settings(scratch=home / "scratch", storage=home / "storage", slots=1)
    with embedded_services(given, databases=("db1", "db2"), slots=4) as attached:
        Home(attached.scratch).provisioner_request.touch()
        for database in open_databases(attached):  # a member needs databases with the schema
            database.dispose()
        yield attached


@pytest.fixture(scope="module")
def crew(system: Settings) -> Iterator[Crew]:
    assert system.broker is not None
    crew = Crew(system.broker)
    yield crew
    crew.close()


@contextlib.contextmanager
def member(system: Settings, name: str, storage: Path | None = None, null: Path = NULL_ROOT) -> Iterator[Forked]:
    """`python -m worker` without tasks of its own, as a lease finds it; forked, since to load it takes seconds. Members that begin
    afresh are in packages/replay/tests/acceptance."""
    settings = dataclasses.replace(system.for_role(WORKER), storage=storage or system.storage)
    env = {"PATH": os.environ["PATH"], "HOME": str(system.scratch), "EDBENCH_NULL": str(null), **settings.environment()}
    process = begin_worker(["--name", name, "--idle"], env, ROOT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def admission(crew: Crew, system: Settings, **roots: Path) -> Admission:
    return Admission(crew, {"storage": system.storage, **roots}, system.storage, lambda _line: None)


def _databases(system: Settings) -> set[str]:
    with (
        contextlib.closing(psycopg2.connect(superuser_url(system.scratch))) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT datname FROM pg_database")
        return {name for (name,) in cursor.fetchall()}


def test_a_run_has_fresh_databases_and_leaves_none(system: Settings, crew: Crew, tmp_path: Path) -> None:
    """On two servers, under the names of the system's; the roles may connect and work there, the superuser's are closed to them,
    and nothing stays. What a killed experiment left goes when the next one begins; meanwhile no job is created, resumed or requeued."""
    before = _databases(system)
    with run_databases(crew, system, 2) as (run, settings, databases):
        assert [database.name for database in databases] == ["db1", "db2"]
        assert f"edbench_run_{run}_1" in _databases(system)
        for login in system.handed:
            url = login.into(settings.databases[0].url).replace("+psycopg2", "")
            with contextlib.closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT has_database_privilege(current_database(), 'CREATE'), session_user")
                assert cursor.fetchone() == (login.role not in (QUEUE_MANAGER, WORKER), f"edbench_{login.role}")
    assert _databases(system) == before
    crew.provision(Make(run=RUN, databases=1))
    opened = open_databases(system)
    filer = Storage()
    (tmp_path / "a.txt").write_text("sesame")
    source = prepare_source(filer, tmp_path)
    plan = DiscoveryPlan(options=JobOptions(), name="paused")
    jobs = create_discovery(opened[:1], filer, system, source, plan, workers=1, slots=1)
    (job,) = jobs.each
    pause_job(job)
    with held_system(crew, opened, 0.0, lambda _line: None):
        assert _databases(system) == before
        with pytest.raises(UsageError, match="another experiment uses this system"):
            held_system(crew, opened, 0.0, lambda _line: None).__enter__()
        with pytest.raises(UsageError, match="an experiment uses this system; wait"):
            refuse_experiment(opened[1])
        with pytest.raises(UsageError, match="an experiment uses this system; wait"):
            resume_job(job, attach=False)
        with pytest.raises(UsageError, match="an experiment uses this system; wait"):
            requeue_exceptions(jobs, storage_root=system.storage)
    assert resume_job(job, attach=False) is JobState.RUNNING
    assert cancel_job(job) is JobState.CANCELLED
    for database in opened:
        database.dispose()


def test_the_provisioner_makes_no_more_than_there_are_servers_for(system: Settings, crew: Crew) -> None:
    with pytest.raises(SystemFault, match="needs 3 database servers, but the system has 2"):
        crew.provision(Make(run=RUN, databases=3))
    crew.provision(Make(run=RUN, databases=1))
    with pytest.raises(SystemFault, match="already exists"):
        crew.provision(Make(run=RUN, databases=1))
    crew.provision(Remove(run=RUN, databases=1))
    crew.provision(Remove(run=RUN, databases=1))


def test_the_documented_login_makes_and_removes_databases(system: Settings) -> None:
    """On a server of the user's own, without its superuser: also a database in which another login has a session."""
    (block,) = re.findall(
        r"```sql\n(CREATE ROLE edbench_provisioner .*?)```", (ROOT / "docs/logins.md").read_text(), re.DOTALL
    )
    own = Login(role=PROVISIONER, password="0123456789abcdef")
    superuser = psycopg2.connect(superuser_url(system.scratch))
    with contextlib.closing(superuser), superuser, superuser.cursor() as cursor:
        cursor.execute(block.replace("…", own.password))
    url = system.databases[0].url
    (server,) = servers_of({"EDBENCH_DATABASES": f"db1={own.into(url)}"}, None)
    name = database_name(RUN, 1)
    make(server, name)
    (worker,) = (login for login in system.handed if login.role == WORKER)
    there = urlsplit(worker.into(url).replace("+psycopg2", ""))._replace(path=f"/{name}")
    with contextlib.closing(psycopg2.connect(there.geturl())):
        remove(server, name)
    assert name not in _databases(system)


def test_a_lease_is_given_taken_back_and_lost_with_a_killed_member(system: Settings, crew: Crew) -> None:
    """Two members have a worker each on the run's databases, which the queue manager may see once all are there; one of them is
    killed and named; the other one's workers end with the lease, and it takes the next one."""
    with member(system, "m1"), member(system, "m2") as killed:
        seats = admission(crew, system).await_workers(2, PATIENCE)
        assert [(seat.member.name, seat.first) for seat in seats] == [("m1", 1), ("m2", 2)]
        (system.storage / "run").mkdir()
        place = Place(root="storage", path="run")
        with run_databases(crew, system, 2) as (run, _, databases):
            leased = Leased(admission(crew, system), seats, run, databases, place, 1, "none")
            with contextlib.suppress(HostLost), leased:
                assert _names(databases[1]) == {"w1", "w2"}
                with databases[0].transaction() as conn:
                    assert runs.marked_runs(conn) == [RunMark(run=run, databases=2)]
                with pytest.raises(SystemFault, match=f"member m1: this member works for run {run}"):
                    crew.ask(seats[0].member, Lease(run=RUN, databases=1, workers=1, slots=1, place=place))
                os.killpg(killed.pid, signal.SIGKILL)
                lost = _lost(leased)
                assert str(lost) == "member m2 was lost: it no longer answers"
                raise lost
            until(lambda: not _names(databases[0]) - {"w2"}, "the workers of m1 end")
            with databases[0].transaction() as conn:
                assert not runs.marked_runs(conn)
        alone = admission(crew, system).await_workers(1, PATIENCE)
        with run_databases(crew, system, 1) as (run, _, databases):
            with Leased(admission(crew, system), alone, run, databases, place, 1, "none") as leased:
                until(lambda: leased.used()[1] > 0, "the member reports what its workers use")
            (left,) = leased.left
            assert (left["name"], left["workers"], left["nfs"]) == ("m1", 1, {})
            assert left["workers_cpu_s"] > 0
            assert left["memory_peak_bytes"] > 10_000_000


def _lost(leased: Leased) -> HostLost:
    """What the lease reports of a member that was killed."""
    while True:
        try:
            leased.check()
        except HostLost as lost:
            return lost
        time.sleep(0.1)


def _names(database: Database) -> set[str]:
    with database.transaction() as conn:
        return {worker.name for worker in WORKERS.list_workers(conn) if worker.live}


def test_a_member_obeys_no_order_that_leads_elsewhere(system: Settings, crew: Crew, tmp_path: Path) -> None:
    """`../`, another root, more than it offers, more databases than it knows: each refused, and it goes on. With the worker's own
    login nobody gives it an order."""
    with member(system, "m1"):
        (seat,) = admission(crew, system).await_workers(1, PATIENCE)
        good = {"run": RUN, "databases": 1, "workers": 1, "slots": 1, "place": Place(root="storage", path=".")}
        for changed, refusal in (
            ({"place": Place(root="storage", path="../scratch")}, "is not below the storage root"),
            ({"place": Place(root="evidence", path=".")}, "the evidence directory is read-only"),
            ({"workers": 2}, "at most 1 worker"),
            ({"databases": 3}, "lists 2 databases on this host"),
            ({"filer": "/etc/passwd"}, "is not an emulated filer"),
            ({"filer": Place(root="storage", path="../x")}, "is not below the storage root"),
        ):
            with pytest.raises(SystemFault, match=f"member m1: .*{refusal}"):
                crew.ask(seat.member, Lease(**{**good, **changed}))  # type: ignore[arg-type]
        (system.storage / "link").symlink_to(tmp_path)
        with pytest.raises(SystemFault, match="is not below the storage root"):
            crew.ask(seat.member, Look(token=Place(root="storage", path="link/token")))
        assert crew.ask(seat.member, Return(run=RUN)) == {}
        (login,) = (login for login in system.handed if login.role == WORKER)
        assert system.broker is not None
        with redis.Redis.from_url(login.into(system.broker)) as client:
            for key in (f"member:{seat.member.id}", "provisioner"):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.rpush(f"edbench:crew:orders:{key}", b"{}")


def test_clients_run_at_all_members(system: Settings, crew: Crew, tmp_path: Path) -> None:
    """Those of a storage test and of a replay. Five at two members, on the storage and in the memory of each: every file once,
    begun together by the clock of this host, nothing left. A member that is killed is named, and orders that lead elsewhere are refused."""
    crowd_at = pytest.importorskip("storage_tests.study").crowd_at
    from storage_tests.crowd import Place as ClientsPlace

    place = system.storage / "clients"
    place.mkdir()
    memory = tmp_path / "memory"
    memory.mkdir()
    with member(system, "m1", null=memory), member(system, "m2", null=memory) as killed:
        looked = admission(crew, system, null=memory)
        looked.await_workers(2, PATIENCE)
        taken = System(settings=system, admission=looked, ours=False)
        with crowd_at(taken, ClientsPlace(roots=(place,)), 5) as people:
            written = people.do("write", range(12), 10_000, together=True)
            assert sorted(int(path.name) for path in place.rglob("*") if path.is_file()) == list(range(12))
            with pytest.raises(SystemFault, match="runs no clients of run"):
                crew.ask(looked.admitted[0], Act(run=RUN, order=raw({})))
        assert [one.client for one in written.clients] == [0, 1, 2, 3, 4]
        assert sum(one.done for one in written.clients) == 12
        assert sum(one.bytes for one in written.clients) == 120_000
        assert all(one.ended_s >= one.began_s >= 0 for one in written.clients)
        with crowd_at(taken, ClientsPlace(roots=(memory / "run",)), 2) as people:
            assert [one.done for one in people.do("write", range(1), 10).clients] == [1, 1]
            own = sorted(path.parent for path in memory.rglob("client-*"))
            assert len(set(own)) == 2, "each member's clients have a directory that it alone removes"
        assert list(memory.iterdir()) == []
        good = {"first": 0, "step": 1, "count": 1, "seed": 1, "fsync": "none", "io_bytes": 1}
        for package, changed, refusal in (
            ("storage-tests", {"places": [{"root": "storage", "path": "../scratch"}]}, "is not below the storage root"),
            ("storage-tests", {"places": [{"root": "evidence", "path": "."}]}, "the evidence directory is read-only"),
            (
                "storage-tests",
                {"places": [{"root": "storage", "path": "."}], "command": "sh"},
                "unknown field `command`",
            ),
            ("os", {}, "this host has no os; install edbench-os on it"),
        ):
            with pytest.raises(SystemFault, match=refusal):
                crew.ask(looked.admitted[0], Prepare(run=RUN, package=package, order=raw(good | changed)))
        if find_spec("replay") is not None:  # an optional package
            _replayed(taken, tmp_path)
        lost = pytest.raises(HostLost, match="member m2 was lost")
        with lost, crowd_at(taken, ClientsPlace(roots=(place,)), 2) as people:
            os.killpg(killed.pid, signal.SIGKILL)
            people.do("write", range(1), 10)


def _replayed(taken: System, tmp_path: Path) -> None:
    """Two clones of a trace, each by another member, that start together; the same on null storage. Nothing stays."""
    from replay.orders import ReplayOrder
    from replay.runs import run_of
    from replay.workload import Replays

    write_trace(reading_trace(streams=2), tmp_path / "t.edbtrace")
    target = taken.settings.storage / "replayed"
    target.mkdir()
    order = ReplayOrder(trace=tmp_path / "t.edbtrace", paths=(target,), speed=0.0)
    replays = Replays(taken.settings, taken, 2, order, ["none"], (), SystemClock(), lambda _line: None)
    turn = Turn(at=replays.loads(4)[0], repeat=0, order=0, name="t")
    with replays.prepared([turn.at]):
        with replays.started(turn) as observe:
            seen = observe()
        ceiling = replays.on_null(turn)
    run = run_of(seen)
    assert (run.calls, run.differences, run.data_sets) == (64, {}, 2)
    assert [(host["name"], host["clients"]) for host in seen.hosts] == [("m1", 2), ("m2", 2)]
    assert all(host["workers_cpu_s"] >= 0 and host["seconds"] > 0 for host in seen.hosts)
    assert ceiling["null_calls"] == 64
    assert list(target.iterdir()) == []
    assert not list(taken.settings.storage.glob(".edbench-replay-*"))


def test_a_member_with_another_storage_is_refused(system: Settings, crew: Crew, tmp_path: Path) -> None:
    with member(system, "far", tmp_path), pytest.raises(UsageError, match="member far has a different storage at"):
        admission(crew, system).await_workers(1, PATIENCE)


def test_null_storage_is_memory_that_every_member_sees(system: Settings, crew: Crew, tmp_path: Path) -> None:
    """As it is not on another host, nor in a container with memory of its own: the member is named."""
    common, other = tmp_path / "memory", tmp_path / "other"
    (common / "null").mkdir(parents=True)
    other.mkdir()
    looked = admission(crew, system, null=common)
    with member(system, "m1", null=common), member(system, "m2", null=common):
        looked.await_workers(2, PATIENCE)
        assert looked.unseen(common / "null") is None
        with member(system, "m3", null=other):
            looked.await_workers(3, PATIENCE)
            assert str(looked.unseen(common / "null")).startswith(
                f"member m3 does not share this host's memory at {common}, "
            )
    assert list((common / "null").iterdir()) == []


def test_too_few_workers_are_reported_with_the_command_that_starts_more(system: Settings, crew: Crew) -> None:
    until(lambda: not crew.present(), "members of other tests have left")
    with pytest.raises(UsageError, match=r"3 workers are required, but 0 are connected: .*`edbench scale 3`"):
        admission(crew, system).await_workers(3, 0.0)
