"""The web UI of a running command, on loopback; it ends with the command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from core.settings import Settings
from experiments.result.schema import At
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.site import Deployment, Machine, Site, Target
from web import HOST
from web.app import create_app
from web.context import Shown, WebContext
from web.door import Door
from web.guests import BesideCommand
from web.installed import web_context
from web.server import Stage, address, listening, served
from web.token import given_token, kept_token, ready_link


@contextlib.contextmanager
def job_page(settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None]) -> Iterator[None]:
    """Serve the web UI over an installation whose services are attached while the block lasts, and print its address.

    Raises UsageError when the port is taken, DatabaseFault.
    """
    given = given_token(env)
    with listening(HOST, port) as sock:
        token = given or kept_token(settings.scratch)
        with (
            web_context(settings, env, BesideCommand(), embedded=True, door=Door(token)) as context,
            served(Stage(create_app(context)), sock),
        ):
            say(f"web UI: {shown_address(address(sock), given, token)}")
            yield


def shown_address(address: str, given: str | None, token: str) -> str:
    """The address to open, with the token if it was generated; a given token is not printed."""
    return address if given else ready_link(address, token)


@contextlib.contextmanager
def experiment_page(
    site: Site, settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None]
) -> Iterator[Site]:
    """For the runs of an experiment, each with its own services; yields the site to run it on. Between runs the web UI shows
    only results. Raises UsageError when the port is taken."""
    with idle_page(settings, env, port, say) as (stage, door):
        yield _Shown(site, stage, settings.storage, door)


@contextlib.contextmanager
def idle_page(
    settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None], shown: Shown | None = None
) -> Iterator[tuple[Stage, Door]]:
    """Serve the web UI without a database while the block lasts. Raises UsageError when the port is taken."""
    given = given_token(env)
    with listening(HOST, port) as sock:
        token = given or kept_token(settings.scratch)
        door = Door(token)
        idle = WebContext(
            settings=settings, databases=(), embedded=True, runner=BesideCommand(), env=env, door=door, shown=shown
        )
        stage = Stage(create_app(idle))
        with served(stage, sock):
            say(f"web UI: {shown_address(address(sock), given, token)}")
            yield stage, door


class _Shown:
    """A `Site` whose runs are in the web UI while they are deployed."""

    def __init__(self, site: Site, stage: Stage, results: Path, door: Door) -> None:
        self.cluster = site.cluster
        self.fresh = site.fresh
        self._site = site
        self._stage = stage
        self._idle = stage.app
        self._results = results
        self._door = door

    def taken(self, points: Sequence[At]) -> contextlib.AbstractContextManager[Machine]:
        """As the site does."""
        return self._site.taken(points)

    @contextlib.contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]) -> Iterator[Deployment]:
        """As the site does, shown in the web UI."""
        with (
            self._site.deploy(spec, name, target, env) as deployment,
            web_context(
                deployment.settings, env, BesideCommand(), embedded=True, door=self._door, results=self._results
            ) as context,
        ):
            self._stage.put(create_app(context))
            try:
                yield deployment
            finally:
                self._stage.put(self._idle)

    def no_null(self) -> str | None:
        """As the site reports."""
        return self._site.no_null()

    def hand_over(self, directory: Path) -> None:
        """As the site does."""
        self._site.hand_over(directory)
