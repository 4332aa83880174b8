"""Where hosts and the command of an experiment meet: a broker of this command's, at an address that the hosts reach."""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import redis

from core.errors import BrokerFault, StorageFault, SystemFault, UsageError
from core.roles import Login, login_name
from core.services.address import in_url, write_private
from core.services.broker import BrokerServer
from core.services.broker_users import HOST
from core.services.place import Home
from core.services.ports import refuse_taken
from experiments.hosts import MOST_HOSTS
from experiments.hosts.messages import ALIVE, ANSWERS, ORDERS, Answer, Hello, Order
from experiments.workload import HostLost
from monitoring.broker import connect

PORT = 6390
_CLIENTS = 4 * MOST_HOSTS + 64
ASK_SECONDS, LONG_SECONDS = 120.0, 3_600.0  # that an answer may take; to an order that is work
_SLACK_SECONDS = 30.0  # of a broker on a machine whose processors are all busy
_WAIT_SECONDS = 1.0  # for an answer, between two looks whether the host is still there
_LISTEN = re.compile(r"(?P<address>\[[0-9a-fA-F:]+\]|[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?::(?P<port>[0-9]{1,5}))?")


def parse_listen(text: str) -> tuple[str, int]:
    """`10.0.0.1` or `10.0.0.1:6390` as address and port; raises UsageError."""
    match = _LISTEN.fullmatch(text)
    port = int(match["port"] or PORT) if match else 0
    address = match["address"].strip("[]") if match else ""
    if not _is_one(address) or not 0 < port < 65_536:
        raise UsageError(
            f"--listen is {text!r}; it must be one address of this host, with a port or not: 10.0.0.1:{PORT}"
        )
    return address, port


def _is_one(address: str) -> bool:
    """Hosts are told to come there, so `0.0.0.0` is none."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not parsed.is_unspecified and not parsed.is_multicast


class Meeting:
    """Safe for several threads."""

    def __init__(self, url: str) -> None:
        """`url`: as the one who may do everything there."""
        self._client: Any = connect(url, block_seconds=_SLACK_SECONDS)

    def present(self) -> list[Hello]:
        """The hosts that are here now, by name; of one name may be several. Raises BrokerFault."""
        try:
            keys = list(self._client.scan_iter(match=f"{ALIVE}*", count=1_000))
            texts = self._client.mget(keys) if keys else []
        except redis.RedisError as error:
            raise BrokerFault(f"the meeting place of the hosts does not answer: {error}") from error
        told = [_hello(key, text) for key, text in zip(keys, texts, strict=True) if text]
        return sorted(told, key=lambda hello: (hello.name, hello.incarnation))

    def check(self, hosts: Sequence[Hello], *, working: bool = True) -> None:
        """Raises HostLost for one that is not here any more; of those that are `working` SystemFault for one whose workers
        do not stay up."""
        here = {hello.incarnation: hello for hello in self.present()}
        for host in hosts:
            now = here.get(host.incarnation)
            if now is None:
                raise HostLost(f"host {host.name} was lost: it does not answer any more")
            if working and now.trouble:
                raise SystemFault(f"host {host.name}: {now.trouble}")

    def ask(self, host: Hello, what: str, of: object = None, seconds: float = ASK_SECONDS) -> Mapping[str, Any]:
        """Have one host do something and wait for what came of it, for as long as the host is there.

        Of a host that is lost the order is taken back, should it come again: but for `leave`, which its workers still
        need. Raises HostLost, SystemFault where it could not be done, BrokerFault.
        """
        order = Order(id=secrets.token_hex(8), what=what, of=msgspec.to_builtins(of) if of is not None else {})
        orders, text = f"{ORDERS}{host.incarnation}", msgspec.json.encode(order)
        try:
            self._client.rpush(orders, text)
            try:
                answer = self._answer(host, order, time.monotonic() + seconds)
            except HostLost:
                if what != "leave":
                    self._client.lrem(orders, 0, text)
                raise
        except redis.RedisError as error:
            raise BrokerFault(f"the meeting place of the hosts does not answer: {error}") from error
        if answer.refused:
            raise SystemFault(f"host {host.name}: {answer.refused}")
        return answer.of

    def _answer(self, host: Hello, order: Order, deadline: float) -> Answer:
        while (answered := self._client.blpop(f"{ANSWERS}{order.id}", timeout=_WAIT_SECONDS)) is None:
            self.check([host], working=False)
            if time.monotonic() > deadline:
                raise HostLost(f"host {host.name} was lost: it is connected but did not answer {order.what} in time")
        return msgspec.json.decode(answered[1], type=Answer)

    def ask_all(
        self, asked: Sequence[tuple[Hello, object]], what: str, seconds: float = ASK_SECONDS
    ) -> list[Mapping[str, Any]]:
        """The same of several at the same time; what came of it in their order."""
        if not asked:
            return []
        with ThreadPoolExecutor(len(asked)) as pool:
            return list(pool.map(lambda one: self.ask(one[0], what, one[1], seconds), asked))

    def offset(self, host: Hello, tries: int = 5) -> tuple[float, float]:
        """The host's clock less this one's, and by how much that may be off, seconds: of several tries the one with the
        shortest way. Raises what `ask` does."""
        measured = []
        for _ in range(tries):
            before = time.time()
            there = float(self.ask(host, "clock")["now"])
            after = time.time()
            measured.append(((after - before) / 2, there - (before + after) / 2))
        error, offset = min(measured)
        return round(offset, 6), round(error, 6)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def _hello(key: bytes, text: bytes) -> Hello:
    """Also of an agent of another version, so far as it can be read: it is told apart by that."""
    try:
        return msgspec.json.decode(text, type=Hello)
    except msgspec.MsgspecError:
        incarnation = key.decode(errors="replace").removeprefix(ALIVE)
        return Hello(name=f"with agent {incarnation}", incarnation=incarnation, version="with unknown words")


@contextmanager
def meeting(scratch: Path, address: str, port: int) -> Iterator[Meeting]:
    """Open for as long as the block lasts. Raises UsageError, StorageFault, BrokerFault."""
    home = Home(scratch / "hosts")
    home.prepare()
    refuse_taken(address, port)
    server = BrokerServer(home, _CLIENTS, [kept_login(scratch)], listen=address, port=port)
    server.open()
    try:
        place = Meeting(server.own_url)
        try:
            yield place
        finally:
            place.close()
    finally:
        server.close()


def join_url(address: str, port: int) -> str:
    """What hosts are given beside the login."""
    return f"redis://{in_url(address)}:{port}/0"


def login_file(scratch: Path) -> Path:
    """As whom hosts come: `user:password`, readable by its owner alone; the same for all experiments of this scratch."""
    return scratch / "hosts" / "login"


def kept_login(scratch: Path) -> Login:
    """It is made up the first time. Raises StorageFault."""
    file = login_file(scratch)
    try:
        if not file.exists():
            write_private(file, f"{Login(role=HOST, password=secrets.token_hex(24))}\n")
        return Login(role=HOST, password=file.read_text(encoding="ascii").strip().removeprefix(f"{login_name(HOST)}:"))
    except OSError as error:
        raise StorageFault(f"{file} cannot be kept: {error.strerror}", errno=error.errno or 0) from error
