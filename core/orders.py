"""Receiver of orders from the broker (core.crew): it takes one at a time and answers it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec
import redis

from core.crew import ANSWERS, ORDERS, Answer, Envelope
from core.errors import EdbenchError
from core.program import Stop

WAIT_SECONDS = 1.0
_KEEP_ANSWER_SECONDS = 600


class OrderTaker:
    """Takes orders and answers them.

    `client`: of the broker; `receiver`: whose orders they are; `do`: carries out an order of type `kind` and returns
    the content of the answer. Its EdbenchError, OSError and `refusals` refuse the order."""

    def __init__(
        self,
        client: Any,
        receiver: str,
        kind: Any,
        do: Callable[[Any], object],
        log: logging.Logger,
        *refusals: type[Exception],
    ) -> None:
        self._client, self._receiver, self._kind, self._do, self._log = client, receiver, kind, do, log
        self._refusals: tuple[type[Exception], ...] = (EdbenchError, OSError, msgspec.MsgspecError, *refusals)

    def run(self, stop: Stop) -> None:
        """Take orders until stopped; retry while the broker does not answer."""
        silent = False
        while not stop.is_set():
            try:
                self._step()
            except redis.RedisError as error:
                if not silent:
                    self._log.warning("the broker does not answer (%s); retrying", error)
                silent = True
                stop.wait(WAIT_SECONDS)
            else:
                silent = False

    def _step(self) -> None:
        """Take one order, if there is one. Raises redis.RedisError."""
        taken = self._client.blpop(f"{ORDERS}{self._receiver}", timeout=WAIT_SECONDS)
        if taken is None:
            return
        try:
            envelope = msgspec.json.decode(taken[1], type=Envelope)
        except msgspec.MsgspecError as error:
            self._log.warning("an order was refused: %s", error)
            return
        try:
            done = self._do(msgspec.json.decode(envelope.order, type=self._kind))
            answer = Answer(of=msgspec.to_builtins(done) if done is not None else {})
        except self._refusals as error:
            self._log.warning("an order was refused: %s", error)
            answer = Answer(refused=" ".join(str(error).split()))
        key = f"{ANSWERS}{envelope.id}"
        self._client.rpush(key, msgspec.json.encode(answer))
        self._client.expire(key, _KEEP_ANSWER_SECONDS)
