"""Which driver errors mean that the system under the job is broken."""

from __future__ import annotations

import psycopg2
import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeout

from sql.held import fault_of


class _Coded(psycopg2.OperationalError):
    """psycopg2 sets `pgcode` in C; a subclass may give it."""

    def __init__(self, code: str | None, text: str) -> None:
        super().__init__(text)
        self._code = code

    @property
    def pgcode(self) -> str | None:
        return self._code


@pytest.mark.parametrize(
    ("code", "transient", "says"),
    [
        ("53100", False, "disk is full"),
        ("53200", False, "out of memory"),
        ("53300", True, "max_connections"),
        ("25006", False, "read-only"),
        ("57P01", True, "shut down"),
        ("57P03", True, "does not accept connections"),
        ("08006", True, "connection"),
        ("40P01", True, "deadlock"),
        ("28P01", False, "EDBENCH_DATABASES"),
    ],
)
def test_states_that_are_faults(code: str, transient: bool, says: str) -> None:
    """Promise: each broken-system state becomes one line that says what to do, and whether a retry may help."""
    fault = fault_of("db1", _Coded(code, "a\nb"))
    assert fault is not None
    assert fault.transient is transient
    assert says in str(fault)
    assert "db1" in str(fault)
    assert "\n" not in str(fault)


def test_the_statements_own_errors_are_no_faults() -> None:
    """Promise: a constraint or a bug is not mistaken for an outage, or a job would wait for ever."""
    assert fault_of("db1", _Coded("23505", "duplicate key")) is None
    assert fault_of("db1", _Coded("42601", "syntax error")) is None
    assert fault_of("db1", ValueError("x")) is None


def test_connecting_without_a_state() -> None:
    """Promise: libpq's texts are told apart: nobody there is transient, a wrong password is not."""
    refused = fault_of("db1", _Coded(None, 'connection to server at "x" failed: Connection refused'))
    login = fault_of("db1", _Coded(None, 'FATAL:  password authentication failed for user "u"'))
    absent = fault_of("db1", _Coded(None, 'FATAL:  database "x" does not exist'))
    assert refused is not None
    assert refused.transient
    assert login is not None
    assert not login.transient
    assert absent is not None
    assert absent.transient, "another server may have the address for a moment"


def test_a_closed_connection_is_a_fault_whatever_the_error_says() -> None:
    """Promise: psycopg2's odd errors on a dying connection count as a lost connection."""
    fault = fault_of("db1", psycopg2.DatabaseError("error with status PGRES_TUPLES_OK"), closed=True)
    assert fault is not None
    assert fault.transient
    assert fault_of("db1", psycopg2.DatabaseError("error with status PGRES_TUPLES_OK")) is None


def test_an_exhausted_pool_is_transient() -> None:
    """Promise: waiting for a connection of one's own process is no reason to suspend a job."""
    fault = fault_of("db1", PoolTimeout("QueuePool limit"))
    assert fault is not None
    assert fault.transient
