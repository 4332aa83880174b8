"""Settings from the environment."""

import contextlib
import dataclasses
import pickle
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from effort import takes_at_most
from hypothesis import given
from hypothesis import strategies as st
from kombu.exceptions import KombuError

from core import job_types, records
from core.celery_app import TASK_NAME, make_app, queue_name
from core.errors import PackageMissing, SourceFileError, UsageError
from core.job_types import JobType, JobTypes, MissingOptions, Phase, TypeOptions, registered, types_of
from core.options import MOST_LANGUAGES, parse_languages
from core.records import JobOptions
from core.roles import ROLES, WORKER, Login
from core.settings import DatabaseAddress, Settings, parse_databases, read_settings
from readers.errors import DocumentError, ExceptionCode

URL = "postgresql+psycopg2://u:p@h/db"


def test_defaults_are_the_embedded_installation() -> None:
    settings = read_settings({})
    assert settings.embedded
    assert settings.slots == 4
    assert settings.storage == Path("edbench-storage").absolute()
    assert settings.scratch == Path(".edbench").absolute()
    assert settings.broker is None


def test_a_child_process_gets_the_same_settings() -> None:
    """`environment` and `read_settings` are inverses, for everything that can be set."""
    given = Settings(
        databases=(DatabaseAddress(name="a", url=URL), DatabaseAddress(name="b", url=URL + "?options=-cx%3Dy")),
        broker="redis://:pw@h",
        storage=Path("/a b/c"),
        scratch=Path("/s"),
        slots=7,
        slot_memory_mb=300,
        log_level="INFO",
        observe=False,
        plugins=("one", "two.three"),
    )
    assert read_settings(given.environment()) == given
    assert read_settings(Settings().environment()) == Settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("EDBENCH_SLOTS", "0"),
        ("EDBENCH_SLOTS", "-1"),
        ("EDBENCH_SLOTS", "four"),
        ("EDBENCH_SLOTS", "²"),
        ("EDBENCH_SLOTS", "9" * 5_000),
        ("EDBENCH_SLOT_MEMORY_MB", "1.5"),
        ("EDBENCH_INDEX_ENGINE", "lucene"),
        ("EDBENCH_OBSERVE", "no"),
        ("EDBENCH_LOG_LEVEL", "loud"),
        ("EDBENCH_LOG_LEVEL", "10"),
        ("EDBENCH_DATABASES", "nourl"),
        ("EDBENCH_DATABASES", "=" + URL),
        ("EDBENCH_DATABASES", "a=sqlite:///x"),
        ("EDBENCH_DATABASES", f"a={URL},a={URL}"),
    ],
)
def test_a_bad_value_is_reported_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(UsageError, match=variable) as caught:
        read_settings({variable: value})
    assert "\n" not in str(caught.value)


def test_empty_values_count_as_not_set() -> None:
    """`EDBENCH_SLOTS=` in a compose file is not an error."""
    assert read_settings(dict.fromkeys(["EDBENCH_SLOTS", "EDBENCH_BROKER", "EDBENCH_DATABASES"], "")) == Settings()


def test_databases_may_be_spaced() -> None:
    assert parse_databases(f" a = {URL} , b={URL}, ") == (
        DatabaseAddress(name="a", url=URL),
        DatabaseAddress(name="b", url=URL),
    )


def test_a_log_level_may_be_written_small() -> None:
    """As most people write it; every process gets the name that `logging` knows."""
    assert read_settings({"EDBENCH_LOG_LEVEL": "info"}).log_level == "INFO"


@pytest.mark.parametrize(
    "broker", ["redis://h:6379/0", "redis://:@h/0", "redis://user@h/0", "rediss://user:@h", "redis:///0"]
)
def test_a_broker_without_a_password_is_refused(broker: str) -> None:
    with pytest.raises(UsageError, match=r"EDBENCH_BROKER.*no password.*EDBENCH_LOGIN_FILE"):
        read_settings({"EDBENCH_BROKER": broker})


@pytest.mark.parametrize(
    "url", ["//u@h/db", "//u:@h/db", "//h/db", "///db?host=db.example.org", "//u@127.0.0.1/db?sslmode=require"]
)
def test_a_database_without_a_password_is_refused(url: str) -> None:
    with pytest.raises(
        UsageError, match=r"EDBENCH_DATABASES: the URL of a has no password.*EDBENCH_LOGIN_FILE"
    ) as caught:
        parse_databases(f"a=postgresql+psycopg2:{url}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["///db?host=/run/postgresql", "///db", "//u@/db", "//u@h/db?sslcert=/a&sslkey=/b", "//u@h/db?passfile=/p"]
)
def test_a_database_that_knows_its_callers_otherwise_needs_none(url: str) -> None:
    """A socket whose server asks the kernel who calls, a certificate, a file of libpq's."""
    assert parse_databases(f"a=postgresql+psycopg2:{url}")[0].url == f"postgresql+psycopg2:{url}"


def test_a_login_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "login"
    file.write_text("edbench_worker:s3cret\n")
    env = {
        "EDBENCH_DATABASES": "a=postgresql+psycopg2://h:5432/db,b=postgresql+psycopg2://u:own@h/db",
        "EDBENCH_BROKER": "redis://h:6379/0",
        "EDBENCH_LOGIN_FILE": str(file),
    }
    settings = read_settings(env)
    assert [d.url.rpartition("//")[2] for d in settings.databases] == ["edbench_worker:s3cret@h:5432/db", "u:own@h/db"]
    assert settings.broker == "redis://edbench_worker:s3cret@h:6379/0"
    for nothing in ("", "edbench_worker", "edbench_worker:", "a:b@elsewhere/x"):
        file.write_text(nothing)
        with pytest.raises(UsageError, match=r"EDBENCH_LOGIN_FILE: .* must contain user:password"):
            read_settings(env)
    file.unlink()
    with pytest.raises(UsageError, match=r"EDBENCH_LOGIN_FILE: .* does not exist"):
        read_settings(env)


def test_each_role_gets_its_own_way_in_and_no_other() -> None:
    """A worker's environment holds the worker's password alone."""
    handed = tuple(Login(role=role, password=f"pw-of-{role}") for role in ROLES)
    given = Settings(databases=(DatabaseAddress(name="a", url=URL),), broker="redis://:pw@h/0", handed=handed)
    for role in ROLES:
        environment = given.for_role(role).environment()
        shown = " ".join(environment.values())
        assert [f"pw-of-{other}" in shown for other in ROLES] == [other == role for other in ROLES]
        assert ":p@" not in shown
        assert ":pw@" not in shown
        own = read_settings(environment)
        assert own.databases[0].url == f"postgresql+psycopg2://edbench_{role}:pw-of-{role}@h/db"
        assert own.broker == f"redis://edbench_{role}:pw-of-{role}@h/0"
    alone = Settings(databases=given.databases, broker=given.broker)
    assert alone.for_role(WORKER) == alone  # one address for all: so be it


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Own(TypeOptions):
    type: JobType = JobType.EXPORT
    out: str = ""


class Types(JobTypes):
    options = Own
    phases: ClassVar[Mapping[JobType, tuple[Phase, ...]]] = {JobType.EXPORT: (Phase.EXPORT, Phase.FINALISE)}


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> dict[str, JobTypes]:
    known: dict[str, JobTypes] = {"own": Types()}
    for module in (job_types, records):
        monkeypatch.setattr(module, "registered", lambda: known)
    return known


def test_options_of_a_registered_type_have_a_key_of_their_own(types: dict[str, JobTypes]) -> None:
    options = JobOptions(of_type=Own(out="/x"))
    data = options.to_json()
    assert (data["type"], data["own"]) == ("export", {"type": "export", "out": "/x"})
    assert JobOptions.from_json(data) == options
    assert (options.type, options.phases) == (JobType.EXPORT, (Phase.EXPORT, Phase.FINALISE))
    assert options.of(Own).out == "/x"
    assert types_of(options.of_type) is types["own"]


def test_a_discovery_has_none() -> None:
    data = JobOptions().to_json()
    assert data.keys().isdisjoint({"type", "of_type", *registered()})
    assert JobOptions.from_json(data).type is JobType.DISCOVERY
    assert types_of(None).leave(None, None, None, Phase.RENDER) is None
    with pytest.raises(TypeError, match="job of type discovery has no Own"):
        JobOptions().of(Own)


def test_a_job_whose_package_is_not_installed_is_listed_and_can_do_nothing_else(types: dict[str, JobTypes]) -> None:
    data: dict[str, Any] = JobOptions(of_type=Own(out="/x")).to_json()
    types.clear()
    options = JobOptions.from_json(data)
    assert isinstance(options.of_type, MissingOptions)
    assert (options.type, options.to_json()) == (JobType.EXPORT, data)
    for attempt in (lambda: options.phases, lambda: types_of(options.of_type), lambda: options.of(Own)):
        with pytest.raises(PackageMissing, match="jobs of type export need the package edbench-own; install it"):
            attempt()


def test_unknown_options_are_refused(types: dict[str, JobTypes]) -> None:
    for more in ({"later": 1}, {"own": {"type": "export", "out": "", "later": 1}}):
        with pytest.raises(TypeError, match=r"options\.(own\.)?later"):
            JobOptions.from_json(JobOptions(of_type=Own()).to_json() | more)


def test_redelivery_is_left_to_the_ledger() -> None:
    """Promise: messages are acknowledged early, one at a time, with no results, events or remote control, and
    never redelivered by the transport."""
    conf = make_app("redis://127.0.0.1:1/0").conf
    assert not conf.task_acks_late
    assert conf.worker_prefetch_multiplier == 1
    assert conf.task_ignore_result
    assert conf.result_backend is None
    assert not conf.worker_enable_remote_control
    assert not conf.worker_send_task_events
    assert conf.task_serializer == "json"
    assert conf.accept_content == ["json"]
    assert conf.broker_transport_options["visibility_timeout"] > 365 * 86_400
    assert conf.broker_connection_max_retries is None
    assert queue_name("db2") == "edbench.db2"


@contextlib.contextmanager
def _silent_server() -> Iterator[int]:
    """Takes connections and never answers: a broker that was stopped, or a network that swallows packets."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _send(url: str) -> None:
    app = make_app(url)
    with pytest.raises((KombuError, OSError)):
        app.send_task(TASK_NAME, args=["db1", 1], queue=queue_name("db1"), retry=False)
    app.close()


def test_publishing_without_a_broker_fails_soon() -> None:
    """Promise: neither a refused nor a silent connection holds the queue manager up: about two seconds, not
    kombu's endless retries."""
    takes_at_most(2.0, lambda: _send("redis://:x@127.0.0.1:1/0"), clock=time.monotonic)
    with _silent_server() as port:
        takes_at_most(5.0, lambda: _send(f"redis://:x@127.0.0.1:{port}/0"), clock=time.monotonic)


@pytest.mark.parametrize(
    "error",
    [
        DocumentError(ExceptionCode.CORRUPT, "bad bytes", missing=3),
        SourceFileError(ExceptionCode.UNREADABLE, "no permission", errno=13),
    ],
)
def test_a_document_error_can_be_pickled(error: DocumentError) -> None:
    """Code, detail and everything else come back; else a pool would die of one bad document."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


@pytest.mark.parametrize(
    ("text", "found"),
    [("eng", "eng"), ("deu+eng+deu", "deu+eng"), ("chi_sim+script/Latin", "chi_sim+script/Latin")],
)
def test_names(text: str, found: str) -> None:
    assert parse_languages(text) == found


@pytest.mark.parametrize("text", ["", "eng+", "eng, deu", "../eng", "/etc/x", "script/../x", "-l", "e", "eng\n"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError, match="--ocr-languages") as refused:
        parse_languages(text)
    assert "\n" not in str(refused.value)


def test_not_too_many() -> None:
    with pytest.raises(UsageError, match=str(MOST_LANGUAGES)):
        parse_languages("+".join(f"l{n}a" for n in range(MOST_LANGUAGES + 1)))


@given(st.text(max_size=20))
def test_whatever_is_taken_is_harmless(text: str) -> None:
    try:
        names = parse_languages(text).split("+")
    except UsageError:
        return
    for name in names:
        assert name.replace("_", "a").replace("/", "a", 1).isalnum()
        assert name[0].isalnum()
