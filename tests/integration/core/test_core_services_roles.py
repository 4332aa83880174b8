"""What each role may do at the embedded services, tried as somebody would who has taken one over."""

import contextlib
import re
from dataclasses import replace
from typing import Any

import psycopg2
import pytest
import redis
from servers import superuser_url

from core.celery_app import make_app, queue_name
from core.roles import CONTROLLER, QUEUE_MANAGER, ROLES, WORKER, Login, login_name
from core.services import broker_keeper_url
from core.services.place import Home
from core.settings import Settings
from monitoring.broker import stream_of
from queue_manager.manager import forget_messages
from sql.session import Database

# Of no role's business: each is code, files, other people's secrets or other databases.
FOR_NOBODY = (
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "CREATE TEMP TABLE t (l text); COPY t FROM PROGRAM 'id'",
    "COPY (SELECT 1) TO '/tmp/edbench-attack'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT rolpassword FROM pg_authid",
    "SELECT passwd FROM pg_shadow",
    "CREATE ROLE intruder SUPERUSER",
    "ALTER ROLE {self} SUPERUSER",
    "ALTER ROLE edbench PASSWORD 'x'",
    "SET ROLE edbench",
    "GRANT edbench TO {self}",
    "GRANT pg_execute_server_program TO {self}",
    "CREATE DATABASE intruder",
    "ALTER SYSTEM SET fsync = off",
    "SELECT pg_reload_conf()",
    "CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'getpid'",
    "CREATE EXTENSION file_fdw",
)
# The schema, and what the work is to be.
NOT_FOR_WORKERS_AND_MANAGERS = (
    "CREATE TABLE t (n int)",
    "CREATE SCHEMA s",
    "DROP TABLE item",
    "ALTER TABLE item ADD COLUMN n int",
    "TRUNCATE item",
    "DELETE FROM job",
    "UPDATE job SET options = '{{}}'",
    "UPDATE job SET source = '/etc'",
    "UPDATE job SET storage = '/'",
    "UPDATE alembic_version SET version_num = '9999'",
    "SELECT * FROM job_group",
    "UPDATE item SET sha256 = ''",
    "CREATE TRIGGER t AFTER INSERT ON item EXECUTE FUNCTION suppress_redundant_updates_trigger()",
)
NOT_FOR_WORKERS = (
    "SELECT * FROM observation",
    "INSERT INTO call_second SELECT * FROM call_second",
    "DELETE FROM worker",
    "UPDATE job SET phase = 'finalise'",
    "INSERT INTO job_pause SELECT * FROM job_pause",
)
NOT_FOR_MANAGERS = (
    "INSERT INTO item SELECT * FROM item",
    "UPDATE item_index SET owner = ''",
    "DELETE FROM death",
    "DELETE FROM item",
    "DELETE FROM task",
)
ATTACKS = [
    *((role, statement) for role in ROLES for statement in FOR_NOBODY),
    *((role, statement) for role in (QUEUE_MANAGER, WORKER) for statement in NOT_FOR_WORKERS_AND_MANAGERS),
    *((WORKER, statement) for statement in NOT_FOR_WORKERS),
    *((QUEUE_MANAGER, statement) for statement in NOT_FOR_MANAGERS),
]


def login(services: Settings, role: str) -> Login:
    """What a process of that role was handed."""
    (found,) = (login for login in services.handed if login.role == role)
    return found


def refused(connection: Any, statement: str) -> bool:
    """Whether the database says that this login has not the right."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
    except psycopg2.errors.InsufficientPrivilege:
        return True
    return False


@pytest.mark.parametrize("role", ROLES)
def test_statements_that_are_not_the_roles(services: Settings, database: Database, role: str) -> None:
    url = login(services, role).into(database.url).replace("+psycopg2", "")
    with contextlib.closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        assert [
            s for who, s in ATTACKS if who == role and not refused(connection, s.format(self=login_name(role)))
        ] == []


def test_no_role_gets_into_other_databases(services: Settings) -> None:
    for role in ROLES:
        url = login(services, role).into(superuser_url(services.scratch))
        with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
            psycopg2.connect(url)


def test_only_the_roles_connect_to_a_database(services: Settings) -> None:
    with (
        contextlib.closing(psycopg2.connect(superuser_url(services.scratch))) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT DISTINCT coalesce(r.rolname, 'PUBLIC') FROM pg_database d CROSS JOIN aclexplode(d.datacl) a"
            " LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE d.datname = 'db1'"
        )
        assert {name for (name,) in cursor.fetchall()} == {login_name(role) for role in ROLES}
        cursor.execute("SELECT rolname FROM pg_roles WHERE rolsuper")
        assert cursor.fetchall() == [("edbench",)]


@pytest.fixture
def queue(broker_url: str) -> str:
    """A queue with one message; gone after the test."""
    name = queue_name("db1")
    with redis.Redis.from_url(broker_url) as client:
        client.lpush(name, "message")
        client.xadd("edbench:frames", {"f": "frame"})
        client.set("other", "key")
    return name


_FOR_NO_ROLE = (
    "CONFIG GET *", "CONFIG SET save 1", "FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "RANDOMKEY", "DBSIZE", "MONITOR",
    "SHUTDOWN NOSAVE", "SAVE", "BGSAVE", "EVAL return(1) 0", "SCRIPT LOAD return(1)", "FUNCTION LIST", "MODULE LIST",
    "DEBUG SLEEP 0", "ACL LIST", "ACL WHOAMI", "CLIENT LIST", "CLIENT KILL 1.2.3.4:5", "REPLICAOF 1.2.3.4 5", "SWAPDB 0 1",
    "DEL edbench.db1", "EXPIRE edbench.db1 0", "RENAME edbench.db1 x", "GET other", "SET other x", "SET edbench.db1 x",
    "LTRIM edbench.db1 1 0", "LRANGE edbench.db1 0 9", "DEL edbench:frames", "XTRIM edbench:frames MAXLEN 0",
    "PUBLISH c m", "SUBSCRIBE c", "MIGRATE 1.2.3.4 5 edbench.db1 0 100", "DUMP edbench.db1", "SORT edbench.db1",
    "SADD edbench.db1 x", "XADD edbench.db1 * f x", "BLMOVE edbench.db1 x LEFT LEFT 0",
)  # fmt: skip
# What only the controller may: an order that anybody else could give would be another way into every member.
_ORDERS = (
    "RPUSH edbench:crew:orders:member:0 x", "LPUSH edbench:crew:orders:member:0 x", "RPUSH edbench:crew:orders:provisioner x",
    "SET edbench:crew:leased:0 1", "DEL edbench:crew:leased:0", "SET edbench:crew:orders:member:0 x",
)  # fmt: skip
_FOR_OTHERS = {
    WORKER: (
        "LPUSH edbench.db1 x",
        "RPUSH edbench.db1 x",
        "XREAD STREAMS edbench:frames 0",
        "XDEL edbench:frames 0-1",
        "INFO",
        *_ORDERS,
        "BLPOP edbench:crew:orders:provisioner 1",
        "BLPOP edbench:crew:answers:0 1",
        "GET edbench:crew:member:0",
        "SMEMBERS edbench:crew:members",
    ),
    QUEUE_MANAGER: (
        *_ORDERS,
        "BLPOP edbench:crew:orders:member:0 1",
        "RPUSH edbench:crew:answers:0 x",
        "BRPOP edbench.db1 1",
        "RPOP edbench.db1",
        "XADD edbench:frames * f x",
    ),
    CONTROLLER: (
        "BLPOP edbench:crew:orders:member:0 1",
        "RPUSH edbench:crew:answers:0 x",
        "SET edbench:crew:member:0 x",
        "LPUSH edbench.db1 x",
        "BRPOP edbench.db1 1",
        "XADD edbench:frames * f x",
        "XDEL edbench:frames 0-1",
    ),
}


def denied(client: redis.Redis, line: str) -> bool:
    """Whether the broker says that this user may not."""
    try:
        client.execute_command(*line.split())
    except redis.exceptions.NoPermissionError:
        return True
    except redis.exceptions.ResponseError as error:
        return "DEBUG command not allowed" in str(error)  # to anybody
    return False


@pytest.mark.parametrize("role", ROLES)
def test_commands_that_are_not_the_roles(services: Settings, queue: str, role: str) -> None:
    """The broker refuses everything but a role's few commands on its few keys, and nothing has changed by trying."""
    assert services.broker is not None
    with redis.Redis.from_url(login(services, role).into(services.broker)) as client:
        assert [line for line in _FOR_NO_ROLE + _FOR_OTHERS[role] if not denied(client, line)] == []
        assert client.ping()


def test_a_queue_manager_removes_what_a_run_left(services: Settings, broker_url: str) -> None:
    """Its messages, bindings and frames, and those of nothing else."""
    assert services.broker is not None
    run = "0123456789abcdef"
    left = {queue_name("db1", run=run), f"_kombu.binding.{queue_name('db1', run=run)}", stream_of(run)}
    with redis.Redis.from_url(broker_url, decode_responses=True) as client:
        for name in (*left, queue_name("db1")):
            client.lpush(name, "x")
        forget_messages(replace(services, run=run, broker=login(services, QUEUE_MANAGER).into(services.broker)))
        assert not client.exists(*left)
        assert client.delete(queue_name("db1")) == 1


def test_a_message_goes_its_way_through_the_roles(services: Settings, queue: str) -> None:
    """What the broker lets each role do is enough for Celery: the queue manager sends, the worker takes, the
    controller counts."""
    assert services.broker is not None
    ways = {role: login(services, role).into(services.broker) for role in ROLES}
    app = make_app(ways[QUEUE_MANAGER])
    app.send_task("edbench.run", args=["db1", "task", "job"], queue=queue)
    app.close()
    with redis.Redis.from_url(ways[CONTROLLER]) as client:
        assert client.llen(queue) == 2
    taking = make_app(ways[WORKER])
    taken: list[Any] = []
    with (
        taking.connection_for_read() as connection,
        taking.amqp.TaskConsumer(
            connection,
            queues=[taking.amqp.queues[queue]],
            no_ack=True,
            callbacks=[lambda body, _message: taken.append(body)],
        ),
    ):  # the fixture's message is none
        with contextlib.suppress(Exception):
            connection.drain_events(timeout=60)
        connection.drain_events(timeout=60)
    taking.close()
    assert taken[0][0] == ["db1", "task", "job"]


def test_nobody_gets_in_without_a_name_and_password(services: Settings) -> None:
    address = services.broker.rpartition("@")[2]
    for who in ("", ":x@", "edbench_worker:x@", "edbench_keeper:x@", "default:@"):
        with redis.Redis.from_url(f"redis://{who}{address}") as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_no_role_gets_the_keepers_passwords(services: Settings) -> None:
    home = Home(services.scratch)
    reported = home.address_file.read_text()
    superuser = re.search(r":([^:@]+)@", superuser_url(services.scratch))
    keeper = re.search(r":([^:@]+)@", broker_keeper_url(services.scratch))
    assert superuser
    assert keeper
    for secret in (superuser[1], keeper[1]):
        assert secret not in reported
