"""`python -m web`: the controller's container."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from installation import PATIENCE

from cli.main import main
from core.errors import UsageError
from core.settings import DatabaseAddress, Settings
from sql.session import Database
from web.__main__ import page

pytestmark = pytest.mark.services

TOKEN = "a token for the tests of the container"


def test_the_containers_page_wants_the_token(database: Database, services: Settings) -> None:
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
        form = httpx.get(f"{here}measure", headers=headers, timeout=PATIENCE).text
        assert all(f'name="{name}"' in form for name in ("workers", "slots", "repeats", "filer"))
        assert "nas-1g" in form
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{here}api/v1/jobs", timeout=PATIENCE)


def test_links_that_sign_in(
    database: Database,
    services: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first is in the log, `edbench token` prints more; each signs in once. A session creates none, and there are none for a
    port that other machines reach."""
    own = (DatabaseAddress(name="db1", url=database.url),)
    settings = Settings(databases=own, broker=services.broker, storage=tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "grafana").write_text("grafana's password\n")
    env = {
        "EDBENCH_TOKEN_FILE": str(tmp_path / "token"),
        "EDBENCH_WEB_ADDRESS": "127.0.0.1:8080",
        "EDBENCH_GRAFANA_ADDRESS": "127.0.0.1:3000",
    }

    def used(link: str, here: str) -> httpx.Response:
        place, _, code = link.partition("#code=")
        assert place == "http://127.0.0.1:8080/login"
        return httpx.post(f"{here}login", data={"code": code}, timeout=PATIENCE)

    with page(settings, env, port=0) as address:
        here = address.replace("0.0.0.0", "127.0.0.1")
        monkeypatch.setattr("web.__main__.PORT", int(here.rstrip("/").rpartition(":")[2]))
        log = capsys.readouterr().out.splitlines()
        assert len(log) == 4
        assert "/login?failed" in used("http://127.0.0.1:8080/login#code=guessed", here).headers["location"]
        signed_in = used(log[0].rpartition(" ")[2], here)
        assert signed_in.headers["location"] == "/"
        assert "failed=code" in used(log[0].rpartition(" ")[2], here).headers["location"]
        form = httpx.get(f"{here}login?failed=code", timeout=PATIENCE).text
        assert "docker compose exec controller edbench token" in form
        session = httpx.post(f"{here}api/v1/sign-in-links", cookies=signed_in.cookies, timeout=PATIENCE)
        assert session.status_code == 409
        assert main(["token", "-o", "json"], env) == 0
        out, err = capsys.readouterr()
        assert "ssh -L 8080:" in err
        assert used(json.loads(out)["url"], here).headers["location"] == "/"
        assert main(["token", "--grafana"], env) == 0
        assert capsys.readouterr().out.split("\n") == [
            "http://127.0.0.1:3000/",
            "user admin",
            "password grafana's password",
            "",
        ]
        assert main(["token", "--api"], env) == 0
        assert capsys.readouterr().out == f"{TOKEN}\n"
        assert main(["token"], {}) == 2
        assert "docker compose exec controller edbench token" in capsys.readouterr().err
    env["EDBENCH_WEB_ADDRESS"] = "0.0.0.0:8080"
    with page(settings, env, port=0) as address:
        assert "code=" not in capsys.readouterr().out
        here = address.replace("0.0.0.0", "127.0.0.1")
        asked = httpx.post(
            f"{here}api/v1/sign-in-links", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE
        )
        assert asked.status_code == 409
        assert "not on loopback" in asked.json()["error"]


def test_without_a_token_there_is_no_page(services: Settings) -> None:
    with pytest.raises(UsageError, match="EDBENCH_TOKEN"), page(services, {}, port=0):
        pass
