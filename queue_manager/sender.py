"""Sends task messages through Celery, and knows when the broker is not the one it was."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import redis
from kombu.exceptions import KombuError

from core.celery_app import TASK_NAME, make_app, queue_name
from core.errors import BrokerFault
from monitoring.broker import connect

_ERRORS = (KombuError, redis.RedisError, OSError)


class Sender:
    """The way to one database's queue. Every method raises BrokerFault within about two seconds."""

    def __init__(self, broker_url: str, database: str, run: str = "") -> None:
        """`run`: as `Settings.run`."""
        self._app = make_app(broker_url)
        self._client = connect(broker_url)
        self._database, self._run = database, run
        # One of our own: a pool whose connections were closed after a fault never lends one again.
        self._producer: Any = None  # a kombu Producer, which has no types

    def send(self, tasks: Sequence[tuple[uuid.UUID, uuid.UUID]], not_on: Mapping[uuid.UUID, str]) -> None:
        """One message for each (job, task), in one exchange with the broker. After BrokerFault some may have been sent.

        `not_on`: hosts that are not to do a task, by task; any may do the others."""
        try:
            producer = self._connected()
            with producer.batch():
                for job, task in tasks:
                    self._app.send_task(
                        TASK_NAME,
                        args=[self._database, str(job), str(task)],
                        queue=queue_name(self._database, not_on.get(task, ""), self._run),
                        producer=producer,
                        retry=False,
                        ignore_result=True,
                    )
        except _ERRORS as error:
            self._disconnect()
            raise BrokerFault(f"cannot send to the broker: {_line(error)}") from error

    def epoch(self) -> str:
        """Changes when the broker was started anew, and so may have lost its messages."""
        try:
            return str(self._client.info("server")["run_id"])
        except _ERRORS as error:
            raise BrokerFault(f"cannot reach the broker: {_line(error)}") from error

    def close(self) -> None:
        """Give up the connections."""
        self._disconnect()
        self._client.close()
        self._app.close()

    def _connected(self) -> Any:
        if self._producer is None:
            self._producer = self._app.amqp.Producer(self._app.connection_for_write())
        return self._producer

    def _disconnect(self) -> None:
        if self._producer is not None:
            connection = self._producer.connection
            self._producer = None
            connection.collect()  # closes without a word to the broker, which may be what does not answer


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
