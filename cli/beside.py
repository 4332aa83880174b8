"""The page that commands show beside their work. The web application is imported only when it is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cli.context import CommandContext
from core.settings import Settings

if TYPE_CHECKING:
    from experiments.profiles.live import Live
    from experiments.profiles.profile import Profile
    from experiments.workloads.discovery.site import Site

PORT = 8080


@contextlib.contextmanager
def page_beside(context: CommandContext, settings: Settings, port: int | None) -> Iterator[None]:
    """The page over `settings` with services attached, while the block lasts; nothing where `port` is None.

    Raises UsageError when the port is taken, DatabaseFault.
    """
    if port is None:
        yield
        return
    from web.beside import job_page

    with job_page(settings, context.env, port, context.say):
        yield


@contextlib.contextmanager
def site_shown(context: CommandContext, site: Site, settings: Settings, port: int | None) -> Iterator[Site]:
    """The site of an experiment with its runs on the page, while the block lasts; the site itself where `port` is
    None. Raises UsageError when the port is taken."""
    if port is None:
        yield site
        return
    from web.beside import experiment_page

    with experiment_page(site, settings, context.env, port, context.say) as shown:
        yield shown


@contextlib.contextmanager
def profile_shown(
    context: CommandContext, profile: Profile[Any], settings: Settings, port: int | None
) -> Iterator[Live | None]:
    """What a profile does, on the page, while the block lasts; None where `port` is None. Raises UsageError when the port is
    taken."""
    if port is None:
        yield None
        return
    from experiments.profiles.live import live
    from web.beside import profile_page

    with (
        live(profile.name, profile.targets.paths) as watched,
        profile_page(watched, settings, context.env, port, context.say),
    ):
        yield watched
