"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import UsageError
from core.roles import ROLES, WORKER, Login
from core.settings import DatabaseAddress, Settings, parse_databases, read_settings

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
def test_a_bad_value_is_told_with_its_variable(variable: str, value: str) -> None:
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


@pytest.mark.parametrize("broker", ["redis://h:6379/0", "redis://:@h/0", "redis://user@h/0", "rediss://user:@h"])
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
    socket = "redis+socket:///run/broker.sock?virtual_host=0"
    assert read_settings({"EDBENCH_BROKER": socket}).broker == socket


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
        said = " ".join(environment.values())
        assert [f"pw-of-{other}" in said for other in ROLES] == [other == role for other in ROLES]
        assert ":p@" not in said
        assert ":pw@" not in said
        own = read_settings(environment)
        assert own.databases[0].url == f"postgresql+psycopg2://edbench_{role}:pw-of-{role}@h/db"
        assert own.broker == f"redis://edbench_{role}:pw-of-{role}@h/0"
    alone = Settings(databases=given.databases, broker=given.broker)
    assert alone.for_role(WORKER) == alone  # one address for all: so be it
