"""Embedded PostgreSQL and broker (design §2): `embedded_services` is the way in."""

from core.services.address import Addresses, BrokerAddress, ServerAddress
from core.services.embedded import embedded_services, running_services

__all__ = ["Addresses", "BrokerAddress", "ServerAddress", "embedded_services", "running_services"]
