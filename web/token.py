"""The token of the web UI: given, or generated and stored where only its owner can read it; sign-in codes and sessions."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import math
import os
import secrets
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.observe.place_kind import place_of
from core.errors import EdbenchError, StorageFault, UsageError, read_problem
from core.mounts import read_mountinfo

SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 1_000  # the oldest is removed
CODE_SECONDS = 15 * 60
MOST_CODES = 100  # unused ones; the oldest is removed
WRONG_AT_ONCE = 10  # wrong tokens before an address has to wait
SECONDS_A_TRY = 6.0  # per further try
MOST_ADDRESSES = 10_000  # remembered with wrong tokens; the oldest is forgotten


class Throttled(EdbenchError):
    """An address sent too many wrong tokens and has to wait for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(f"too many wrong tokens from this address; try again in {self.seconds} s")


class Door:
    """The token, the sign-in codes and the sessions of one server, in memory; used by one event loop."""

    def __init__(self, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._digest = _digest(token)
        self._now = now
        self._sessions: dict[bytes, float] = {}  # digest → when it ends; oldest first
        self._codes: dict[bytes, float] = {}  # the same of unused codes
        self._wrong: dict[
            str, tuple[float, float]
        ] = {}  # address → wrong tokens that still count, and the time of that count

    def knows(self, token: str, address: str) -> bool:
        """Return whether this is the token, in constant time. Raises Throttled, also for the right token, so that
        guessing stops."""
        return self._checked(address, lambda: hmac.compare_digest(_digest(token), self._digest))

    def new_code(self) -> str:
        """Create a sign-in code, which `redeem` takes once within CODE_SECONDS."""
        return _remember(self._codes, self._now() + CODE_SECONDS, MOST_CODES)

    def redeem(self, code: str, address: str) -> bool:
        """Return whether this is an unused code that has not expired; it is used now. Wrong codes count as wrong
        tokens: raises Throttled."""
        return self._checked(address, lambda: self._now() < self._codes.pop(_digest(code), -math.inf))

    def _checked(self, address: str, check: Callable[[], bool]) -> bool:
        who = _who(address)
        count = self._counting(who)
        if count > WRONG_AT_ONCE - 1:
            raise Throttled((count - WRONG_AT_ONCE + 1) * SECONDS_A_TRY)
        right = check()
        if not right:
            self._wrong.pop(who, None)
            self._wrong[who] = (count + 1, self._now())
            if len(self._wrong) > MOST_ADDRESSES:
                del self._wrong[next(iter(self._wrong))]
        return right

    def _counting(self, who: str) -> float:
        count, since = self._wrong.get(who, (0.0, 0.0))
        return max(0.0, count - (self._now() - since) / SECONDS_A_TRY)

    def begin(self) -> str:
        """Create a session; return its random name."""
        return _remember(self._sessions, self._now() + SESSION_SECONDS, MOST_SESSIONS)

    def admits(self, session: str) -> bool:
        """Whether the session is valid."""
        return self._now() < self._sessions.get(_digest(session), -math.inf)

    def end(self, session: str) -> None:
        """End the session, including every copy of its cookie."""
        self._sessions.pop(_digest(session), None)


def _remember(names: dict[bytes, float], until: float, most: int) -> str:
    """Return a new random name and store its digest with its expiry; the oldest is removed if there are too many."""
    name = secrets.token_urlsafe(32)
    names[_digest(name)] = until
    if len(names) > most:
        del names[next(iter(names))]
    return name


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _who(address: str) -> str:
    """The address for counting; for IPv6 the network, because a host can use all of its addresses."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((int(ip), 64), strict=False))


WEB, GRAFANA = "EDBENCH_WEB_ADDRESS", "EDBENCH_GRAFANA_ADDRESS"
COMMAND = "docker compose exec controller edbench token"


@dataclass(frozen=True, slots=True)
class Published:
    """An address that the engine forwards to a port of a container."""

    host: str
    port: str  # empty: any free one, which only the engine knows
    service: str

    @property
    def loopback(self) -> bool:
        """Whether only programs on the host can reach it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The URL to open in a browser; if the port is unknown, with a command that a shell replaces."""
        host = "SERVER" if self.host in ("0.0.0.0", "::") else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" if self.port else f"http://$(docker compose port {self.service})/"

    @property
    def forward(self) -> str:
        """The option of ssh that forwards it to the same port of another machine; empty if the port is unknown."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"-L {self.port}:{host}:{self.port}" if self.port else ""

    def sign_in(self, code: str) -> str:
        """The link that signs in with the code, which is after the `#`: browsers do not send that part, so that only the script of the
        form redeems it."""
        return f"{self.url}login#code={code}"

    def refuse_link(self) -> None:
        """Raise UsageError if other machines can reach it: the link would cross the network unencrypted."""
        if not self.loopback:
            raise UsageError(
                f"the web UI is published at {self.host}, not on loopback: links are not printed, because others could read them"
                f" on the network; sign in with the token that `{COMMAND} --api` prints"
            )


def published(env: Mapping[str, str], variable: str) -> Published | None:
    """The address that the variable names as `ADDRESS:PORT`; None if it is not set. Raises UsageError."""
    text = env.get(variable, "").strip()
    if not text:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not host or (port and not (port.isascii() and port.isdigit())):
        raise UsageError(f"{variable} is {text!r}; write ADDRESS:PORT, such as 127.0.0.1:8080")
    service = "controller 8080" if variable == WEB else "grafana 3000"
    return Published(host.removeprefix("[").removesuffix("]"), port, service)


def headless_line(*addresses: Published | None) -> str:
    """The command that forwards the ports to the user's own machine; empty if no port is known."""
    options = " ".join(filter(None, (each.forward for each in addresses if each is not None and each.loopback)))
    return f"from another machine, first: ssh {options} SERVER" if options else ""


def start_lines(web: Published, grafana: Published | None, code: str, storage: Path) -> list[str]:
    """The lines that the controller prints when it serves: sign in, sign in again, Grafana, storage. Raises
    StorageFault."""
    headless = headless_line(web, grafana)
    lines = [f"storage: {storage_line(storage)}"]
    if grafana is not None:
        lines.insert(0, f"Grafana: {grafana.url} with the password of: {COMMAND} --grafana")
    if not web.loopback:
        return [f"web UI: {web.url} with the token of: {COMMAND} --api", *lines]
    minutes = CODE_SECONDS // 60
    return [
        f"sign in, once, within {minutes} minutes: {web.sign_in(code)}",
        f"another link: {COMMAND}{f' ({headless})' if headless else ''}",
        *lines,
    ]


def storage_line(root: Path) -> str:
    """Type, server, path and free space of the storage root, and the user that writes to it. Raises StorageFault."""
    try:
        space = os.statvfs(root)
    except OSError as error:
        raise StorageFault(f"the storage root {root} cannot be reached: {error.strerror}") from error
    free, whole = (blocks * space.f_frsize / 1e9 for blocks in (space.f_bavail, space.f_blocks))
    return f"{place_of(root, read_mountinfo())}, {free:,.1f} GB of {whole:,.1f} GB free, writable as user {os.getuid()}:{os.getgid()}"


VARIABLE = "EDBENCH_TOKEN"
FILE_VARIABLE = "EDBENCH_TOKEN_FILE"
LEAST_CHARACTERS = 16
FILE = "page-token"  # below scratch
_MADE_BYTES = 24
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def given_token(env: Mapping[str, str]) -> str | None:
    """The token of EDBENCH_TOKEN, or the one in the file of EDBENCH_TOKEN_FILE; None if neither is set. Raises
    UsageError if it is too short or cannot be read."""
    token, name = env.get(VARIABLE, "").strip(), VARIABLE
    if not token and (file := env.get(FILE_VARIABLE)):
        token, name = read_secret(Path(file)), file
    if (name != VARIABLE and not token) or (token and len(token) < LEAST_CHARACTERS):
        raise UsageError(f"{name} has fewer than {LEAST_CHARACTERS} characters; set it to a longer random text")
    return token or None


def read_secret(path: Path) -> str:
    """The text of a file, without surrounding white space. Raises UsageError."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(path, error)) from error


def kept_token(scratch: Path) -> str:
    """The token in scratch; generated if there is none that only this user can read. Raises UsageError."""
    path = scratch / FILE
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        while (token := _read(path)) is None:
            _make(path)
    except OSError as error:
        raise UsageError(f"cannot write the token of the web UI to {path}: {error.strerror}; set {VARIABLE}") from error
    return token


def _read(path: Path) -> str | None:
    """The stored token, None if there is none. One that others could have read or written is removed."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except OSError:  # such as a symbolic link
        path.unlink(missing_ok=True)  # another process may remove it at the same time
        return None
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        token = file.read(1_000).decode("ascii", "replace").strip() if stat.S_ISREG(info.st_mode) else ""
    if info.st_uid == os.geteuid() and not stat.S_IMODE(info.st_mode) & 0o077 and len(token) >= LEAST_CHARACTERS:
        return token
    path.unlink(missing_ok=True)
    return None


def _make(path: Path) -> None:
    """Write a token atomically; if another process was faster, its token stays."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    with open(os.open(draft, _WRITE, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(_MADE_BYTES) + "\n")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def ready_link(address: str, token: str) -> str:
    """The address with the token after a `#`: browsers do not send that part, and a script fills the form from it."""
    return f"{address}login#token={token}"
