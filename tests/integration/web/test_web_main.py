"""`python -m web`: the controller's container."""

from __future__ import annotations

import httpx
import pytest
from installation import PATIENCE

from core.errors import UsageError
from core.settings import DatabaseAddress, Settings
from sql.session import Database
from web.__main__ import page

pytestmark = pytest.mark.services

TOKEN = "a token for the tests of the container"


def test_the_containers_page_wants_the_token(database: Database, services: Settings) -> None:
    """It listens at every address, answers under any name, and starts no workers of its own."""
    own = (DatabaseAddress(name="db1", url=database.url),)
    settings = Settings(databases=own, broker=services.broker, storage=services.storage)
    with page(settings, {"EDBENCH_TOKEN": TOKEN}, port=0) as address:
        here = address.replace("0.0.0.0", "127.0.0.1")
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": "controller.example"}
        assert httpx.get(f"{here}api/v1/jobs", timeout=PATIENCE).status_code == 401
        assert httpx.get(f"{here}api/v1/jobs", headers=headers, timeout=PATIENCE).json() == {"jobs": [], "total": 0}
        choices = httpx.get(f"{here}api/v1/choices", headers=headers, timeout=PATIENCE).json()
        assert (choices["embedded"], choices["creating"], choices["workers"]) == (False, True, 0)
        order = {"source": "/", "workers": 2}
        refused = httpx.post(f"{here}api/v1/jobs", headers=headers, json=order, timeout=PATIENCE)
        assert list(refused.json()["errors"]) == ["workers"]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{here}api/v1/jobs", timeout=PATIENCE)


def test_without_a_token_there_is_no_page(services: Settings) -> None:
    """One line that names the variable; nothing listens."""
    with pytest.raises(UsageError, match="EDBENCH_TOKEN"), page(services, {}, port=0):
        pass
