"""Orders to members of the crew and to the provisioner, and their answers."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import redis

from core.crew import (
    ALIVE_SECONDS,
    ANSWERS,
    LEASED,
    MEMBER,
    MEMBERS,
    OF_MEMBER,
    ORDERS,
    PROVISIONER,
    Answer,
    Clock,
    Envelope,
    Hello,
    Make,
    Remove,
    Return,
)
from core.errors import BrokerFault, SystemFault
from experiments.workload import HostLost
from monitoring.broker import connect

ASK_SECONDS, LONG_SECONDS = 120.0, 3_600.0  # that an answer may take; to an order that is work
_SLACK_SECONDS = 30.0  # of a broker on a machine whose CPUs are all busy
_WAIT_SECONDS = 1.0  # for an answer, between two looks whether the member is still there
_HOLD_SECONDS = ALIVE_SECONDS / 5
_AWAY = "the broker does not answer"

log = logging.getLogger(__name__)


class Crew:
    """The crew of a broker. Safe for several threads."""

    def __init__(self, url: str) -> None:
        """`url`: with the controller's login."""
        self._client: Any = connect(url, block_seconds=_SLACK_SECONDS)

    def present(self) -> list[Hello]:
        """The members that are here now, by name. Raises BrokerFault."""
        try:
            ids = sorted(one.decode() for one in self._client.smembers(MEMBERS))
            texts = self._client.mget([f"{MEMBER}{one}" for one in ids]) if ids else []
            gone = [one for one, text in zip(ids, texts, strict=True) if not text]
            if gone:
                self._client.srem(MEMBERS, *gone)
        except redis.RedisError as error:
            raise BrokerFault(f"{_AWAY}: {error}") from error
        found = [_hello(one, text) for one, text in zip(ids, texts, strict=True) if text]
        return sorted(found, key=lambda hello: (hello.name, hello.id))

    def check(self, members: Sequence[Hello]) -> dict[str, Hello]:
        """What each reports now, by id. Raises HostLost for one that is not here any more."""
        here = {hello.id: hello for hello in self.present()}
        for member in members:
            if member.id not in here:
                raise HostLost(f"member {member.name} was lost: it does not answer any more")
        return here

    def ask(self, member: Hello, order: Any, seconds: float = ASK_SECONDS) -> Mapping[str, Any]:
        """Have one member carry out an order and wait for what came of it, for as long as the member is there.

        Of a member that is lost the order is taken back, should it come again: but for a `Return`. Raises HostLost,
        SystemFault where it could not be done, BrokerFault.
        """
        key, envelope = f"{ORDERS}{OF_MEMBER}{member.id}", _envelope(order)
        text = msgspec.json.encode(envelope)
        deadline = time.monotonic() + seconds
        try:
            self._client.rpush(key, text)
            while (answered := self._client.blpop(f"{ANSWERS}{envelope.id}", timeout=_WAIT_SECONDS)) is None:
                try:
                    self.check([member])
                except HostLost:
                    if not isinstance(order, Return):
                        self._client.lrem(key, 0, text)
                    raise
                if time.monotonic() > deadline:
                    raise HostLost(f"member {member.name} was lost: it is connected but did not answer in time")
        except redis.RedisError as error:
            raise BrokerFault(f"{_AWAY}: {error}") from error
        return _answer(answered[1], f"member {member.name}")

    def ask_all(self, asked: Sequence[tuple[Hello, Any]], seconds: float = ASK_SECONDS) -> list[Mapping[str, Any]]:
        """The same of several at the same time; what came of it in their order."""
        if not asked:
            return []
        pool = ThreadPoolExecutor(len(asked))
        try:
            return list(pool.map(lambda one: self.ask(one[0], one[1], seconds), asked))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C does not wait for answers

    @contextlib.contextmanager
    def working(self, run: str, members: Sequence[Hello]) -> Iterator[None]:
        """The run is wanted, and these members work for it, until the block ends. One that is at work then stops when it notices
        that its lease is over."""
        try:
            with self.held(run):
                yield
        finally:
            for member in members:
                with contextlib.suppress(HostLost, SystemFault):
                    self.ask(member, Return(run=run))

    def provision(self, order: Make | Remove) -> None:
        """Have the provisioner carry out an order. Raises SystemFault where it is not there or could not, BrokerFault."""
        envelope = _envelope(order)
        text = msgspec.json.encode(envelope)
        try:
            self._client.rpush(f"{ORDERS}{PROVISIONER}", text)
            answered = self._client.blpop(f"{ANSWERS}{envelope.id}", timeout=_SLACK_SECONDS)
            if answered is None:
                self._client.lrem(f"{ORDERS}{PROVISIONER}", 0, text)
                raise SystemFault(
                    "the provisioner, which makes the databases of runs, does not answer: start the service `provisioner`"
                    " (docs/containers.md)"
                )
        except redis.RedisError as error:
            raise BrokerFault(f"{_AWAY}: {error}") from error
        _answer(answered[1], "the provisioner")

    def offset(self, member: Hello, tries: int = 5) -> tuple[float, float]:
        """The member's clock less this one's, and by how much that may be off, seconds: of several tries the one with the
        shortest way. Raises what `ask` does."""
        measured = []
        for _ in range(tries):
            before = time.time()
            there = float(self.ask(member, Clock())["now"])
            after = time.time()
            measured.append(((after - before) / 2, there - (before + after) / 2))
        error, offset = min(measured)
        return round(offset, 6), round(error, 6)

    @contextlib.contextmanager
    def held(self, run: str) -> Iterator[None]:
        """The run is wanted for as long as the block lasts: members that do not hear this for `ALIVE_SECONDS` leave it. Raises
        BrokerFault."""
        over = threading.Event()
        self._hold(run)
        holder = threading.Thread(target=self._keep_holding, args=(run, over), name="lease", daemon=True)
        holder.start()
        try:
            yield
        finally:
            over.set()
            holder.join()
            try:
                self._client.delete(f"{LEASED}{run}")
            except redis.RedisError as error:
                log.warning("run %s: %s: %s", run, _AWAY, error)

    def _hold(self, run: str) -> None:
        try:
            self._client.set(f"{LEASED}{run}", "1", px=int(ALIVE_SECONDS * 1_000))
        except redis.RedisError as error:
            raise BrokerFault(f"{_AWAY}: {error}") from error

    def _keep_holding(self, run: str, over: threading.Event) -> None:
        while not over.wait(_HOLD_SECONDS):
            try:
                self._hold(run)
            except BrokerFault as fault:
                log.warning("run %s: %s", run, fault)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def _envelope(order: Any) -> Envelope:
    return Envelope(id=secrets.token_hex(16), order=msgspec.Raw(msgspec.json.encode(order)))


def _answer(text: bytes, who: str) -> Mapping[str, Any]:
    answer = msgspec.json.decode(text, type=Answer)
    if answer.refused:
        raise SystemFault(f"{who}: {answer.refused}")
    return answer.of


def _hello(identity: str, text: bytes) -> Hello:
    """Decode a member's hello, as far as possible also one of another version: its `version` shows that it is one."""
    try:
        return msgspec.json.decode(text, type=Hello)
    except msgspec.MsgspecError:
        return Hello(id=identity, name=identity, version="with unknown words", host={}, storage={}, roots={})
