"""The Celery application that sender and workers share."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest
from effort import takes_at_most
from kombu.exceptions import KombuError

from core.celery_app import TASK_NAME, make_app, queue_name


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
