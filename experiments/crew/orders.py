"""Orders to members of the crew and to the provisioner, and their answers."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import redis

from core.clock import offset_of
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
    Return,
    raw,
)
from core.errors import BrokerFault, SystemFault
from experiments.workload import HostLost
from monitoring.broker import connect

_PROVISION_SECONDS = 60.0  # for the provisioner, which may be starting
ASK_SECONDS, LONG_SECONDS = 120.0, 3_600.0  # limits for an answer; LONG_SECONDS for an order that is work
_SLACK_SECONDS = 30.0  # of a broker on a machine whose CPUs are all busy
_WAIT_SECONDS = 1.0  # for an answer, between two checks that the member is still connected
_HOLD_SECONDS = ALIVE_SECONDS / 5

log = logging.getLogger(__name__)


class Crew:
    """The crew of a broker. Safe for several threads."""

    def __init__(self, url: str) -> None:
        """`url`: with the controller's login."""
        self._client: Any = connect(url, block_seconds=_SLACK_SECONDS)

    def present(self) -> list[Hello]:
        """Return the connected members by name. Raises BrokerFault."""
        with _broker():
            ids = sorted(one.decode() for one in self._client.smembers(MEMBERS))
            texts = self._client.mget([f"{MEMBER}{one}" for one in ids]) if ids else []
            gone = [one for one, text in zip(ids, texts, strict=True) if not text]
            if gone:
                self._client.srem(MEMBERS, *gone)
        found = [_hello(one, text) for one, text in zip(ids, texts, strict=True) if text]
        return sorted(found, key=lambda hello: (hello.name, hello.id))

    def check(self, members: Sequence[Hello]) -> None:
        """Raise HostLost if one of the members is no longer connected."""
        here = {hello.id for hello in self.present()}
        for member in members:
            if member.id not in here:
                raise HostLost(f"member {member.name} was lost: it no longer answers")

    def ask(self, member: Hello, order: Any, seconds: float = ASK_SECONDS) -> Mapping[str, Any]:
        """Have one member carry out an order and return its answer; wait as long as the member is connected. An order
        to a lost member is withdrawn, except a `Return`. Raises HostLost, SystemFault if the order failed, BrokerFault."""
        deadline = time.monotonic() + seconds

        def patient() -> None:
            self.check([member])
            if time.monotonic() > deadline:
                raise HostLost(f"member {member.name} was lost: it is connected but did not answer in time")

        return self._order(f"{OF_MEMBER}{member.id}", order, f"member {member.name}", patient)

    def _order(self, receiver: str, order: Any, who: str, patient: Callable[[], None]) -> Mapping[str, Any]:
        """Send an order and return its answer. `patient` is called about once a second and raises to end the wait."""
        envelope = Envelope(id=secrets.token_hex(16), order=raw(order))
        text = msgspec.json.encode(envelope)
        with _broker():
            self._client.rpush(f"{ORDERS}{receiver}", text)
            while (answered := self._client.blpop(f"{ANSWERS}{envelope.id}", timeout=_WAIT_SECONDS)) is None:
                try:
                    patient()
                except SystemFault:
                    if not isinstance(order, Return):
                        self._client.lrem(f"{ORDERS}{receiver}", 0, text)
                    raise
        answer = msgspec.json.decode(answered[1], type=Answer)
        if answer.refused:
            raise SystemFault(f"{who}: {answer.refused}")
        return answer.of

    def ask_all(self, asked: Sequence[tuple[Hello, Any]], seconds: float = ASK_SECONDS) -> list[Mapping[str, Any]]:
        """Do the same with several members at the same time; return the answers in their order."""
        if not asked:
            return []
        pool = ThreadPoolExecutor(len(asked))
        try:
            return list(pool.map(lambda one: self.ask(one[0], one[1], seconds), asked))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C does not wait for answers

    def provision(self, order: Make) -> None:
        """Have the provisioner carry out an order. Raises SystemFault if it is not connected or failed, BrokerFault."""
        deadline = time.monotonic() + _PROVISION_SECONDS

        def patient() -> None:
            if time.monotonic() > deadline:
                raise SystemFault(
                    "the provisioner, which creates the databases of runs, does not answer: start the service "
                    "`provisioner` (docs/containers.md)"
                )

        self._order(PROVISIONER, order, "the provisioner", patient)

    def offset(self, member: Hello) -> tuple[float, float]:
        """Return the offset of the member's clock, as `offset_of` does. Raises the errors of `ask`."""
        return offset_of(lambda: float(self.ask(member, Clock())["now"]))

    @contextlib.contextmanager
    def held(self, run: str) -> Iterator[None]:
        """Keep the run's lease during the block: members that do not see it for `ALIVE_SECONDS` leave the run. Raises
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
                with _broker():
                    self._client.delete(f"{LEASED}{run}")
            except BrokerFault as fault:
                log.warning("run %s: %s", run, fault)

    def _hold(self, run: str) -> None:
        with _broker():
            self._client.set(f"{LEASED}{run}", "1", px=int(ALIVE_SECONDS * 1_000))

    def _keep_holding(self, run: str, over: threading.Event) -> None:
        while not over.wait(_HOLD_SECONDS):
            try:
                self._hold(run)
            except BrokerFault as fault:
                log.warning("run %s: %s", run, fault)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextlib.contextmanager
def _broker() -> Iterator[None]:
    """Report errors of the client library as BrokerFault."""
    try:
        yield
    except redis.RedisError as error:
        raise BrokerFault(f"the broker does not answer: {error}") from error


def _hello(identity: str, text: bytes) -> Hello:
    """Decode a member's hello, as far as possible also that of another version: `version` then says so."""
    try:
        return msgspec.json.decode(text, type=Hello)
    except msgspec.MsgspecError:
        return Hello(id=identity, name=identity, version="with an unknown answer", host={}, storage={}, roots={})
