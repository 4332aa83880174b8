"""The jobs of a campaign: small tasks and short leases, so that much happens in a second or two."""

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.plan import Course
from core.errors import UsageError
from core.job_types import JobType
from core.records import JobOptions, OcrChoice
from dataset_gen.formats.encrypted import PASSWORD

LEASE_SECONDS = 2.0
DISPATCH_SECONDS = 3.0
_BATCH_FILES = 12  # a corpus of some hundred items has a dozen tasks in each phase
_PHASES = ("walk", "expand", "index", "finalise")
_SINGLE = ("walk", "expand", "finalise")
# Small ones of each type that is drawn in its own way: the pages of a whole corpus take minutes.
_SOON_DRAWN = "size:<6000 AND (type:pdf OR type:image OR type:text OR type:document)"


def _options(**changes: object) -> JobOptions:
    made = JobOptions(lease_seconds=LEASE_SECONDS, dispatch_seconds=DISPATCH_SECONDS, batch_files=_BATCH_FILES)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def _here() -> str:
    return ""


def no_tesseract() -> str:
    """Why no picture can be read here."""
    return "" if shutil.which("tesseract") else "tesseract is not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of job, and what is done with it."""

    name: str
    phases: tuple[str, ...] = _PHASES
    options: JobOptions = field(default_factory=_options)
    databases: int = 1
    shard: bool = False
    moments: tuple[str, ...] = ()  # that are come to while faults may come; empty: all there are
    like: str = ""  # the kind whose undisturbed run says how many moments there are, where its own would not
    reach: float = 1.0  # share of such a run that its owner leaves it
    own_faults: bool = False  # only those that name it: it has services and workers of its own
    bank: tuple[str, ...] = ()  # passwords that are tried
    truth: bool = True  # the manifest holds for it; else what an undisturbed run found does
    script: str = "discover"  # chaos.scripts
    produces: JobType = JobType.DISCOVERY  # what is made of the items of one, where that is not all …
    taken: str = ""  # … and of which of them: a query; empty: of all
    missing: Callable[[], str] = _here  # why it cannot be had on this machine; empty: it can

    @property
    def course(self) -> Course:
        """What the plan has to know of it."""
        return Course(
            name=self.name, phases=self.phases, moments=self.moments, reach=self.reach, own_faults=self.own_faults
        )


ALL: tuple[Kind, ...] = (
    Kind(name="two-pass"),
    Kind(name="single-pass", phases=_SINGLE, options=_options(single_pass=True)),
    Kind(name="whoosh", options=_options(index_engine="whoosh")),
    Kind(name="two-databases", databases=2),
    Kind(name="sharded", phases=_SINGLE, databases=2, shard=True, options=_options(single_pass=True)),
    Kind(name="paused", script="pause", like="two-pass"),
    Kind(name="requeued", script="requeue"),
    Kind(name="cancelled", script="cancel", like="two-pass", reach=0.5),
    Kind(name="passwords", options=_options(single_pass=True), phases=_SINGLE, bank=(PASSWORD,), truth=False),
    Kind(
        name="ocr",
        phases=("walk", "expand", "index", "ocr", "finalise"),
        options=_options(ocr=OcrChoice(languages="eng")),
        truth=False,
        missing=no_tesseract,
    ),
    Kind(
        name="processing",
        phases=("render", "stamp", "finalise"),
        script="produce",
        produces=JobType.PROCESSING,
        taken=_SOON_DRAWN,
    ),
    Kind(name="export", phases=("extract", "export", "finalise"), script="produce", produces=JobType.EXPORT),
    Kind(name="extraction", phases=("extract", "finalise"), script="produce", produces=JobType.EXTRACTION),
    Kind(name="command", script="command", own_faults=True),
    Kind(name="deleted", script="delete", moments=("commit", "committed")),
)


def chosen(text: str, say: Callable[[str], None]) -> tuple[Kind, ...]:
    """Those that `all`, or a list of names, means, without those that cannot be had here; raises UsageError."""
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in wanted if word not in {"all", *(kind.name for kind in ALL)}]
    if unknown or not wanted:
        raise UsageError(f"--kind: {text!r} is not a kind; give `all` or some of {', '.join(k.name for k in ALL)}")
    possible = []
    for kind in ALL:
        if "all" not in wanted and kind.name not in wanted:
            continue
        if why := kind.missing():
            say(f"skipped: jobs of kind {kind.name}: {why}")
        else:
            possible.append(kind)
    if not possible:
        raise UsageError(f"--kind {text}: none of these kinds is available here")
    return tuple(possible)
