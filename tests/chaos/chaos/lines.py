"""The lines of a site: one to each database and one to the broker; and settings that go over them."""

import dataclasses
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy.engine import make_url

from chaos.proxy import Line, tcp, unix
from core.errors import SystemFault
from core.settings import DatabaseAddress, Settings

_LOOPBACK = "127.0.0.1"


class Lines:
    """Made from settings with services; `close` ends them."""

    def __init__(self, settings: Settings, host: str = "") -> None:
        """`host`: an address of this machine that databases are to be reached at too, by TCP; empty: by unix sockets."""
        self._directories: list[Path] = []
        self._host = host
        self.databases: list[Line] = []
        self.broker: Line
        try:
            addresses = tuple(self._database(address) for address in settings.databases)
            broker = self._broker(settings.broker or "")
        except OSError as error:
            self.close()
            raise SystemFault(f"no line to the services can be laid: {error}") from error
        self.settings = dataclasses.replace(settings, databases=addresses, broker=broker)
        for line in self.all:
            line.start()

    @property
    def all(self) -> list[Line]:
        """Databases first."""
        return [*self.databases, self.broker]

    def close(self) -> None:
        """End every line."""
        for line in self.all:
            line.close()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)

    def _database(self, address: DatabaseAddress) -> DatabaseAddress:
        url = make_url(address.url)
        server = unix(str(url.query["host"]))
        if self._host:
            line = Line(tcp(self._host), server)
            over = url.difference_update_query(["host"]).set(host=self._host, port=line.port)
        else:
            directory = Path(tempfile.mkdtemp(prefix="edbench-line-"))
            self._directories.append(directory)
            line = Line(unix(directory), server)
            over = url.update_query_dict({"host": str(directory)})
        self.databases.append(line)
        return DatabaseAddress(name=address.name, url=over.render_as_string(hide_password=False))

    def _broker(self, url: str) -> str:
        parts = urlsplit(url)
        self.broker = Line(tcp(self._host or _LOOPBACK), tcp(parts.hostname or _LOOPBACK, parts.port or 6379))
        login = parts.netloc.rpartition("@")[0]
        place = f"{self._host or _LOOPBACK}:{self.broker.port}"
        return urlunsplit(parts._replace(netloc=f"{login}@{place}" if login else place))
