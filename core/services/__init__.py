"""Embedded PostgreSQL and broker (design §2); use `embedded_services`."""

from core.services.address import Addresses, BrokerAddress, ServerAddress
from core.services.embedded import (
    broker_keeper_url,
    check_kept,
    embedded_services,
    for_other_hosts,
    running_services,
)

__all__ = [
    "Addresses",
    "BrokerAddress",
    "ServerAddress",
    "broker_keeper_url",
    "check_kept",
    "embedded_services",
    "for_other_hosts",
    "running_services",
]
