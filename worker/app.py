"""The Celery side of a slot: a solo consumer of the queues of all databases.

A slot is its own process with its own supervisor, so of Celery's worker only the consumer is wanted: no pool of
processes, no signal handlers, no gossip, no heartbeats, no remote control."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from queue import Empty
from typing import Any

import redis.utils
from celery import Celery
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from kombu.transport import redis as redis_transport
from redis.exceptions import RedisError, ResponseError

from core.celery_app import TASK_NAME, make_app
from monitoring.broker import connect

# How long an idle slot waits for the broker's answer, which comes at once with a message. Repeated requests are most of
# an idle slot's cost; for a slot that is to stop, the broker is made to answer (`_Asking.no_more`).
_ASK_SECONDS = 2.0
# Between attempts to reach a broker that is away: at once, then up to a second.
_RETRY = {"interval_start": 0.1, "interval_step": 0.2, "interval_max": 1.0}

# Modules that Celery and its libraries import at their first use.
_LATER = (
    *("celery.app.amqp", "celery.app.control", "celery.app.events", "celery.app.routes", "celery.backends.base"),
    *(
        "celery.concurrency.solo",
        "celery.events",
        "celery.fixups.django",
        "celery.loaders.app",
        "celery.loaders.default",
    ),
    *("celery.worker.autoscale", "celery.worker.components", "celery.worker.consumer.delayed_delivery"),
    *("celery.worker.strategy", "kombu.matcher", "kombu.pidbox", "encodings.idna"),
)

log = logging.getLogger(__name__)


def preload(broker_url: str | None) -> None:
    """Import before the fork what each slot would import by itself, which takes a tenth of a second of CPU time, and
    make the slots' application if the broker is known."""
    for module in _LATER:
        import_module(module)
    redis.utils.get_lib_version()  # type: ignore[no-untyped-call]
    if broker_url is not None:
        _slot_app(broker_url)


def _drain(consumer: Any, connection: Any, task_consumer: Any, blueprint: Any, _hub: Any, qos: Any, *_: Any) -> None:
    """Run Celery's blocking loop without its wakings; return when the consumer is to close. Raises if it lost the
    broker."""
    task_consumer.on_message = consumer.create_task_handler()
    task_consumer.consume()
    consumer.on_ready()
    _asking.number = _number(task_consumer.channel)
    running, transport = blueprint.state, connection.transport
    while blueprint.state == running and consumer.connection:
        state.maybe_shutdown()
        if qos.prev != qos.value:
            qos.update()
        consumer.perform_pending_operations()
        # Not `drain_events`: that repeats the request by itself until its time is over.
        with contextlib.suppress(Empty):
            transport.cycle.get(transport._deliver, timeout=_ASK_SECONDS)


@dataclass(slots=True)
class _Asking:
    """Request to the broker for messages, for whose answer a slot without work waits."""

    broker: str = ""
    number: int = 0  # the broker's, of the connection that it is asked on; 0: not known

    def no_more(self) -> None:
        """Make the broker answer now: kombu waits for the answer when it closes, so that no message is lost in it."""
        if not self.number:
            return
        with contextlib.suppress(RedisError), connect(self.broker) as client:
            client.client_unblock(self.number)


_asking = _Asking()


def _number(channel: Any) -> int:
    """ID of the connection on which messages are requested; 0 where the broker reports none."""
    client = channel.client
    if client.connection is None:  # as kombu does at the first question
        client.connection = client.connection_pool.get_connection()
    try:
        return int(client.client_id())
    except ResponseError:
        return 0


class SlotConsumer(Consumer):  # type: ignore[misc]
    """Celery's consumer with a faster stop, and a faster return after an outage of the broker."""

    loop = staticmethod(_drain)

    def ensure_connected(self, conn: Any) -> Any:
        """Try for as long as it takes; the broker's return is noticed within about a second."""
        warned = False

        def failed(error: Exception, _interval: float) -> None:
            nonlocal warned
            if not warned:
                warned = True
                log.warning("the broker at %s does not answer (%s); retrying", conn.as_uri(), error)

        conn = conn.ensure_connection(failed, None, callback=state.maybe_shutdown, **_RETRY)
        if warned:
            log.warning("the broker at %s answers again", conn.as_uri())
        return conn


def quiet_celery(level: str) -> None:
    """Silence the logs of Celery and kombu unless `level` is DEBUG or INFO: this module reports outages itself."""
    if logging.getLevelName(level) not in (logging.DEBUG, logging.INFO):
        logging.getLogger("celery").setLevel(logging.ERROR)
        logging.getLogger("kombu").setLevel(logging.ERROR)


def ask_to_stop() -> None:
    """End after the running task, if any. Called from a signal handler."""
    state.should_stop = 0
    _asking.no_more()


@functools.cache
def _slot_app(broker_url: str) -> Celery:
    app = make_app(broker_url)
    app.conf.update(
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        # Otherwise kombu copies each message into a hash on the broker until it is acknowledged, two transactions a
        # message, for a redelivery that is the ledger's business: 1.06 ms of CPU time a message against 0.37.
        broker_transport_options={**app.conf.broker_transport_options, "ack_emulation": False},
    )
    app.task(name=TASK_NAME, ignore_result=True)(_task)
    app.finalize()
    return app


def _task(database: str, job: str, task: str) -> None:
    """Hold the place of the slot's own function."""


def make_slot_app(broker_url: str, run: Callable[[str, str, str], None]) -> Celery:
    """Return an application whose one task calls `run(database name, job id, task id)`."""
    app = _slot_app(broker_url)
    app.tasks[TASK_NAME].run = run
    app.set_default()  # what a task is traced with; otherwise Celery makes and finalizes a second application for that
    return app


def consume(app: Celery, name: str, queues: Sequence[str]) -> int:
    """Process the messages of these queues until `ask_to_stop`; return the exit status."""
    _asking.broker = app.conf.broker_url
    redis_transport.Transport.brpop_timeout = _ASK_SECONDS  # type: ignore[assignment]
    controller = WorkController(
        app=app,
        hostname=name,
        pool="solo",
        concurrency=1,
        queues=",".join(queues),
        use_eventloop=False,
        consumer_cls=SlotConsumer,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        task_events=False,
        prefetch_multiplier=1,
        loglevel=logging.ERROR,
    )
    controller.start()
    return int(controller.exitcode or 0)
