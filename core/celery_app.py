"""The Celery application that the queue manager sends with and the workers consume with: one configuration.

The broker only carries messages and may lose them all: what is to be done again is the ledger's business. So messages
are acknowledged before the work (early), one is taken at a time, and no results, events or remote control exist."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, TypeVar

from celery import Celery
from celery.backends.base import DisabledBackend

TASK_NAME = "edbench.run"
_T = TypeVar("_T")
SOCKET_SECONDS = 2.0  # how long one exchange with the broker may take
_NEVER = 10 * 365 * 86_400  # seconds

# A peer that vanished without a word is noticed after about 3 + 3 × 1 seconds.
_KEEPALIVE: dict[int, int] = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
}

_TRANSPORT_OPTIONS: dict[str, Any] = {
    # Acknowledged before the work, a message is never redelivered by the transport.
    "visibility_timeout": _NEVER,
    "socket_timeout": SOCKET_SECONDS,
    "socket_connect_timeout": SOCKET_SECONDS,
    "socket_keepalive": True,
    "socket_keepalive_options": _KEEPALIVE,
    # kombu drops a connection on which BRPOP is this late (its own default is 25 s).
    "health_check_interval": 3,
    # One attempt to connect for one attempt to send; the worker's consumer goes by broker_connection_* below.
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
    "connect_retries_timeout": SOCKET_SECONDS,
}


def queue_name(database: str, not_on: str = "", run: str = "") -> str:
    """The Celery queue for the tasks of one database, by its name in this installation. `not_on`: the queue of tasks
    that every host but this one may do. `run`: as `Settings.run`."""
    name = f"edbench.run.{run}.{database}" if run else f"edbench.{database}"
    return f"{name}.not.{not_on}" if not_on else name


def own_first(databases: Sequence[_T], slot: int, slots: int) -> list[_T]:
    """The databases in the order in which a slot looks for tasks: its own first, then the others. So a slow database
    holds no more than its share of the slots while others have tasks. Slots count from 0. With fewer slots than
    databases, a slot takes from the databases in turn (`takes_turns`), in the given order."""
    at = 0 if takes_turns(len(databases), slots) else slot % len(databases)
    return [*databases[at:], *databases[:at]]


def takes_turns(databases: int, slots: int) -> bool:
    """Whether a slot takes from the databases in turn instead of from its own first."""
    return databases > slots


def queues_of(databases: Sequence[str], hosts: Sequence[str], run: str = "") -> list[str]:
    """Return the queues that a worker takes tasks from. `hosts` and `run` are those of `Settings`."""
    return [queue_name(database, not_on, run) for database in databases for not_on in ("", *hosts[1:])]


class _App(Celery):  # type: ignore[misc]
    """A Celery application that stores no results. Celery would read the entry points of every installed package to
    find a result store, in each slot, which takes 5 to 10 ms."""

    def _get_backend(self) -> DisabledBackend:
        return DisabledBackend(app=self)


def make_app(broker_url: str) -> Celery:
    """A Celery application on that broker. Messages: task `edbench.run`, args [database name, job id, task id].

    Publishing without a broker fails within about two seconds; a consumer reconnects for ever."""
    app = _App("edbench", broker=broker_url, set_as_current=False)
    app.conf.update(
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=False,
        task_serializer="json",
        accept_content=["json"],
        task_create_missing_queues=True,
        task_publish_retry=False,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=SOCKET_SECONDS,
        broker_heartbeat=0,
        broker_transport_options=_TRANSPORT_OPTIONS,
        enable_utc=True,
    )
    return app
