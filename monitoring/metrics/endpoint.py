"""Where a process answers Prometheus: `/metrics` on a port of its own, for every role alike."""

from __future__ import annotations

import logging
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import UsageError
from core.extensions import installed_version
from monitoring.metrics.catalogue import SPECS, Collector, Metric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)

PORT_VARIABLE, ADDRESS_VARIABLE = "EDBENCH_METRICS_PORT", "EDBENCH_METRICS_ADDRESS"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to listen; port 0: nowhere."""

    port: int = 0
    address: str = "127.0.0.1"

    def environment(self, offset: int = 0) -> dict[str, str]:
        """The variables that give another process of this host the port `offset` further on; none for port 0."""
        if not self.port:
            return {}
        return {PORT_VARIABLE: str(self.port + offset), ADDRESS_VARIABLE: self.address}

    def serve(self, collectors: Iterable[Collector]) -> Callable[[], None]:
        """Answer from a thread; returns what stops it. Raises UsageError if it cannot listen."""
        if self.port == 0:
            return _nothing
        from prometheus_client import start_http_server

        try:
            server, thread = start_http_server(self.port, addr=self.address, registry=make_registry(collectors))
        except (OSError, OverflowError) as e:
            raise UsageError(
                f"cannot serve metrics on {self.address}:{self.port}: {getattr(e, 'strerror', None) or e};"
                f" choose another {PORT_VARIABLE}, or 0 for none"
            ) from e

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop

    def serve_or_tell(self, collectors: Iterable[Collector]) -> Callable[[], None]:
        """The same where the work does not depend on it: what is wrong goes to the log."""
        try:
            return self.serve(collectors)
        except UsageError as error:
            log.error("%s", error)
            return _nothing


NOWHERE = Endpoint()


def read_endpoint(env: Mapping[str, str]) -> Endpoint:
    """From EDBENCH_METRICS_PORT and EDBENCH_METRICS_ADDRESS; raises UsageError for what is no port."""
    text = env.get(PORT_VARIABLE) or "0"
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65_535:
        raise UsageError(f"{PORT_VARIABLE} is {text!r}; it must be a port number, or 0 for none")
    return Endpoint(int(text), env.get(ADDRESS_VARIABLE) or "127.0.0.1")


def make_registry(collectors: Iterable[Collector]) -> CollectorRegistry:
    """A registry of these and `edbench_build_info`."""
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    for collector in (_BuildInfo(), *collectors):
        registry.register(collector)
    return registry


class _BuildInfo(Collector):
    def collect(self) -> Iterator[Metric]:
        family = SPECS["edbench_build_info"].gauge()
        family.add_metric((installed_version(), platform.python_version()), 1)
        yield family


def _nothing() -> None:
    return None
