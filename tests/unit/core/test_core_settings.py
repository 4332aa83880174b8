"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import UsageError
from core.settings import DatabaseAddress, Settings, parse_databases, read_settings

URL = "postgresql+psycopg2://u@h/db"


def test_defaults_are_the_embedded_installation() -> None:
    """With nothing set, services are ours to start and every place is absolute."""
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
        broker="redis://h",
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
    """One line that names the variable, whatever is wrong with it."""
    with pytest.raises(UsageError, match=variable) as caught:
        read_settings({variable: value})
    assert "\n" not in str(caught.value)


def test_empty_values_count_as_not_set() -> None:
    """`EDBENCH_SLOTS=` in a compose file is not an error."""
    assert read_settings(dict.fromkeys(["EDBENCH_SLOTS", "EDBENCH_BROKER", "EDBENCH_DATABASES"], "")) == Settings()


def test_databases_may_be_spaced() -> None:
    """Blanks around names, addresses and commas, and a comma too many, do no harm."""
    assert parse_databases(f" a = {URL} , b={URL}, ") == (
        DatabaseAddress(name="a", url=URL),
        DatabaseAddress(name="b", url=URL),
    )


def test_a_log_level_may_be_written_small() -> None:
    """As most people write it; every process gets the name that `logging` knows."""
    assert read_settings({"EDBENCH_LOG_LEVEL": "info"}).log_level == "INFO"
