"""The web application over a copy of the finished job, asked in this process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from finished_job import Copy, Finished, copied
from installation import until

from core.clock import SystemClock
from web.app import create_app
from web.context import Runner
from web.installed import web_context
from web.runs import OthersWork
from web.token import Door

LOCAL = "http://127.0.0.1:8080"
TOKEN = "the token of tests that ask as programs do"


@dataclass(frozen=True, slots=True)
class Site:
    """One application and the job in it."""

    app: FastAPI
    client: TestClient
    copy: Copy

    @property
    def job(self) -> str:
        """The API's path of the finished job."""
        return f"/api/v1/jobs/{self.copy.handle.id}"

    def page(self, path: str, status: int = 200) -> str:
        """A page of the web UI, which is answered with this status."""
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"].startswith("text/html")
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        return str(answer.text)

    def done(self, kind: str) -> dict[str, Any]:
        """A background task of the job, once it is over."""
        return dict(until(lambda: self._over(kind), f"{kind} is over"))

    def _over(self, kind: str) -> Any:
        found = self.client.get(f"{self.job}/background-tasks").json()["background_tasks"][kind]
        return None if found["running"] else found


@pytest.fixture(scope="module")
def shared_copy(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """One copy for the tests of a module."""
    with copied(finished, tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture(scope="module")
def make_site(shared_copy: Copy) -> Iterator[Callable[..., Site]]:
    """Applications over the module's copy; workers are nobody's. Their clients are let in where no `token` is given."""
    closing: list[Callable[[], object]] = []

    def make(*, token: str | None = None, runner: Runner | None = None, embedded: bool = False) -> Site:
        settings = shared_copy.settings
        manager = web_context(
            settings,
            {"EDBENCH_CORPORA": str(Path(settings.storage).parent)},
            runner or OthersWork(settings, SystemClock()),
            embedded=embedded,
            door=Door(token or TOKEN),
        )
        app = create_app(manager.__enter__())
        closing.append(lambda: manager.__exit__(None, None, None))
        closing.append(app.state.streams.close)
        headers = {} if token else {"Authorization": f"Bearer {TOKEN}"}
        client = TestClient(app, base_url=LOCAL, follow_redirects=False, headers=headers)
        return Site(app, client, shared_copy)

    yield make
    for close in reversed(closing):
        close()


@pytest.fixture(scope="module")
def site(make_site: Callable[..., Site]) -> Site:
    """The application to one who is let in."""
    return make_site()
