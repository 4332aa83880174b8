"""Storage tests in the web UI: their list, the form that starts one, and the page of one while its command runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from core.document import TEXT, Document
from core.errors import UsageError
from core.settings import Settings
from storage_tests.orders import ProfileOrder
from storage_tests.profile import Targets as Places
from storage_tests.profile import command_only, made, plain, profiles, refuse_filer, refuse_room, settings_of
from web.api.models.common import responses
from web.api.needs import Context
from web.context import Shown, WebContext
from web.errors import FieldErrors, NotFound, at_field
from web.measuring import GivenPath, Kind, check_sizes, model, target_roots
from web.pages.render import page
from web.results import allowed_target

if TYPE_CHECKING:
    from storage_tests.live import Live

api = APIRouter(tags=["storage tests"])
pages = APIRouter()

PATH = "/profile"


class Targets(Document):
    """The directories and settings of a storage test."""

    profile: Annotated[str, Field(max_length=100, pattern=TEXT)] = Field(description="Of GET /api/v1/profiles.")
    paths: Annotated[list[GivenPath], Field(max_length=16)] = Field(
        default_factory=list,
        description="Absolute paths of empty directories, each a volume, below the storage root or EDBENCH_TARGETS.",
    )
    setting: Annotated[list[Annotated[str, Field(max_length=1_000, pattern=TEXT)]], Field(max_length=100)] = Field(
        default_factory=list, description="NAME=VALUE each; GET /api/v1/profiles lists the names."
    )

    def arguments(self, paths: Iterable[Path]) -> list[str]:
        """Return the arguments after the options."""
        return [*(f"--path={path}" for path in paths), *(f"--set={one}" for one in self.setting), "--", self.profile]


class SettingRow(Document):
    """A setting of a storage test."""

    name: str
    value: str
    small: str = Field(description="Its value with `small`.")
    about: str


class ProfileRow(Document):
    """A storage test."""

    name: str
    report: str = Field(description="The report that the test is from; empty if it is our own.")
    does: str
    writes: str
    needs: str
    takes_paths: bool
    settings: list[SettingRow]


class ProfileList(Document):
    """The storage tests."""

    profiles: list[ProfileRow]


@api.get("/profiles", responses=responses())
def list_profiles() -> ProfileList:
    """List storage tests with their settings, by default and with `small`."""
    return ProfileList(profiles=[_profile(name) for name in profiles()])


def _profile(name: str) -> ProfileRow:
    kind = profiles()[name]
    usual, small = (settings_of(kind, [], small=small).model_dump(mode="json") for small in (False, True))
    return ProfileRow(
        name=name,
        report=kind.report,
        does=kind.does,
        writes=kind.writes,
        needs=kind.needs,
        takes_paths=kind.takes_paths,
        settings=[
            SettingRow(name=key, value=plain(usual[key]), small=plain(small[key]), about=field.description or "")
            for key, field in kind.settings_type.model_fields.items()
            if key not in command_only(kind)
        ],
    )


def _check(order: Any) -> None:
    """Raise UsageError for invalid sizes, and for settings that name programs or other directories of the server."""
    check_sizes(order)
    kind = profiles().get(order.profile)
    refused = command_only(kind) & {one.partition("=")[0].strip() for one in order.setting} if kind else set()
    if refused:
        why = "it gives a program or a directory of the server; use `edbench bench storage` on the server"
        raise UsageError(f"setting {', '.join(sorted(refused))}: {why}", field="setting")


def _arguments(context: WebContext, order: Any) -> list[str]:
    """Return the arguments of the command. Raises FieldErrors."""
    if order.profile not in profiles():
        raise FieldErrors(
            {"profile": f"storage test {order.profile!r} does not exist; choose one of {', '.join(profiles())}"}
        )
    paths = [allowed_target(context, path) for path in order.paths]
    with at_field("setting"):
        settings_of(profiles()[order.profile], order.setting, small=order.small)
    with at_field("paths"):
        profile = made(order.profile, Places(paths=tuple(paths)), order.setting, small=order.small)
        refuse_room(profile, fill=order.fill)
    with at_field("filer"):
        profile.check()
        refuse_filer(profile, order.filer or context.settings.filer)
    return order.arguments(paths)  # type: ignore[no-any-return]


def _shown(context: WebContext, _rows: object, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the chosen test and all others. Raises NotFound."""
    name = query.get("profile", "stream")
    if name not in profiles():
        raise NotFound(f"storage test {name[:100]!r} does not exist; the tests are {', '.join(profiles())}")
    listed = [_profile(each) for each in profiles()]
    return {"targets": target_roots(context), "profiles": listed, "profile": _profile(name)}


kinds = (
    Kind(
        name="profile",
        does="run a storage test of reports R2 to R5",
        model=model("ProfileRun", ProfileOrder, Targets),
        command="storage",
        check=_check,
        arguments=_arguments,
        template="measure_profile.html",
        shown=_shown,
    ),
)


def _live(context: WebContext) -> Live:
    """Return the running storage test. Raises NotFound on a server that no storage test started."""
    if context.shown is None or context.shown.path != PATH:
        raise NotFound("this server runs no storage test; `edbench bench storage NAME --serve` starts one")
    live: Live = context.shown.source
    return live


@api.get("/profile/timeline", responses=responses(404))
def profile_timeline(context: Context) -> dict[str, Any]:
    """Return rates by second of the storage test of `edbench bench storage --serve`, on one axis and downsampled, with
    the runs so far and their outcomes. 404 on other servers."""
    return _live(context).timeline()


@pages.get(PATH)
def profile(request: Request, context: Context) -> Response:
    """Show the current activity."""
    return page(request, "profile.html", seen=profile_timeline(context))


@contextlib.contextmanager
def profile_page(
    live: Live, settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None]
) -> Iterator[None]:
    """Serve a storage test, which has no job and no database. Raises UsageError if the port is in use."""
    from web.installed import idle_page

    with idle_page(settings, env, port, say, shown(live)):
        yield


def shown(live: Live) -> Shown:
    """Return the page of a running test."""
    return Shown(path=PATH, title="Storage test", source=live)
