"""The table of `make truth`: storage and load whose answer is known beforehand, and what has to be said of them.

Every known limit is at least five times below what two processors can ask for, or five times above it."""

from dataclasses import dataclass

from endpoint import Takes
from loads import Calls, Deduplicated, Discovery, JobReplay, Load, Profile, Replay, ScaleUp
from testbeds import Emulated, Local, Loop, Memory, Mounted, Moved, SmallMemory, Testbed

DRIFT = "DRIFT"
GENERATOR, CACHED, UNDECLARED, NO_BASELINE = "GENERATOR-LIMITED", "CACHED", "FILER CACHE UNDECLARED", "NO BASELINE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What cannot be passed, and by how little it may be missed."""

    figure: str  # of `judge.FIGURES`
    value: float
    within: float = 0.05  # of the value


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One line of the table."""

    name: str
    truth: str  # in words
    testbed: Testbed
    load: Load
    limit: str | None  # link, metadata, data, delays, storage, generator, space, pace; None: not known, not judged
    labels: tuple[str, ...] = ()  # labels that have to be given, by how they begin
    never: tuple[str, ...] = (GENERATOR,)  # and that must not be
    finds: tuple[str, ...] = ()  # words of the first line
    share: float | None = None  # the storage share is at least this
    ceiling: Ceiling | None = None


def _emulated(**tables: str) -> Emulated:
    return Emulated("".join(f"[{name}]\n{text}\n" for name, text in tables.items()))


def _station(servers: int, ms: float) -> str:
    return f"servers = {servers}\nservice_us.default = {ms * 1000}"


def _link(mb_per_s: float) -> str:
    return f"bytes_per_s = {mb_per_s}e6"


KB64, MB = 65_536, 1_000_000
READS, WRITES = Calls("read", each=160, size=KB64), Calls("write", each=160, size=KB64)  # by 4 clients 42 MB
STATS = Calls("stat", each=250)
SMALL_READS = Calls("read", each=250, size=4096)
FILES = Calls("read", each=820, size=1 << 20)  # by 4 clients 3.4 GB
BIG_READS, BIG_WRITES = Calls("read", each=480, size=KB64), Calls("write", each=480, size=KB64)  # 126 MB
DELAY = _station(64, 10)
EMULATED = ("EMULATED FILER",)
GROUPS = ("files=3000", "group=100", "clients=4", "directories=shared")
NAS = "25 MB/s link"


def _queues(times: int) -> str:
    """A filer at which eight slots wait for each other; so many times as slow."""
    tables = {"link": _link(20 / times), "metadata": _station(2, 3 * times), "data": _station(2, 4 * times)}
    return "".join(f"[{name}]\n{text}\n" for name, text in tables.items())


def _jobs(
    name: str, truth: str, testbed: Testbed, labels: tuple[str, ...], places: tuple[bool, ...] = (False, True)
) -> tuple[Situation, ...]:
    """With one slot and with eight: replayed where it was recorded, and where it is slower (True of `places`)."""
    return tuple(
        Situation(
            name=f"job-{name}-{slots}{'-slower' if slower else ''}",
            truth=f"a job with {slots} slots, {truth}"
            + (", half as fast for the replay and the job held against it" if slower and False in places else ""),
            testbed=testbed,
            load=JobReplay(slots, slower),
            limit=None,
            labels=labels,
            never=(),
            ceiling=Ceiling(figure="x the job's elapsed", value=1.0, within=0.10 if slower else 0.05),
        )
        for slower in places
        for slots in (1, 8)
    )


_SEARCH = ("cases=6", "path_size=64MiB", "seconds=4", "ramp_seconds=1", "most_ms=60", "most_outstanding=64")
_CELLS = ("threads=1,2", "records=256KiB", "files=4MiB,8MiB")
_READS = 8e6 / 8192  # a second that a device of 8 MB/s makes of 8 KiB each

# Storage tests through fio. The device's reads are the limit: 60 % of all, so that they make 1 ÷ 0.6 of their rate. The emulated
# filer delays nothing that fio does, so the limit is the block layer's: a loop device under blkio.
PROFILES = (
    Situation(name="profile-search", truth="a block device of 8 MB/s (loop, blkio): 976 reads/s, and so 1,628 I/Os of 60 % reads",
              testbed=Loop(256, mb_per_s=8), load=Profile("block-8k", _SEARCH), limit=None,
              ceiling=Ceiling(figure="IOPS found", value=_READS / 0.6)),
    Situation(name="profile-search-load", truth="the same: 60 ms of it are 98 I/Os outstanding (Little)",
              testbed=Loop(256, mb_per_s=8), load=Profile("block-8k", _SEARCH), limit=None,
              ceiling=Ceiling(figure="outstanding found", value=_READS / 0.6 * 0.060)),
    Situation(name="profile-matrix-dropped", truth="8 MB/s, this host's cache dropped before each reading: no cache",
              testbed=Loop(256, mb_per_s=8), load=Profile("matrix", _CELLS), limit=None, labels=(CACHED,),
              finds=("no cache answered",), ceiling=Ceiling(figure="reread ÷ read", value=1.0)),
    Situation(name="profile-matrix-cached", truth="8 MB/s, dropped before the first reading only: the second is this host's cache's",
              testbed=Loop(256, mb_per_s=8), load=Profile("matrix", (*_CELLS, "drop=before-read")), limit=None,
              labels=(CACHED,), never=(), finds=("A CACHE ANSWERED at 4 of 4 cells",)),
    Situation(name="profile-stream", truth="8 MB/s: one stream reads as fast as dd does", testbed=Loop(256, mb_per_s=8),
              load=Profile("stream", ("streams=1", "file_size=48MiB"), dd_bytes=48 << 20), limit=None, labels=(CACHED,),
              ceiling=Ceiling(figure="x dd's MB/s", value=1.0, within=0.03)),
)  # fmt: skip

SITUATIONS = (
    # Replays on an emulated filer: closed loops, whose throughput follows from its numbers.
    Situation(name="link-read", truth="a link of 8 MB/s", testbed=_emulated(link=_link(8)), load=Replay(READS),
              limit="link", labels=EMULATED, ceiling=Ceiling(figure="bytes/s", value=8 * MB)),
    Situation(name="link-write", truth="a link of 8 MB/s, written to", testbed=_emulated(link=_link(8)),
              load=Replay(WRITES), limit="link", labels=EMULATED, ceiling=Ceiling(figure="bytes/s", value=8 * MB)),
    Situation(name="link-scaled", truth="a link of 320 MB/s at scale 1/40",
              testbed=Emulated("scale = 40.0\n[link]\n" + _link(320)), load=Replay(READS), limit="link", labels=EMULATED,
              ceiling=Ceiling(figure="bytes/s", value=8 * MB)),
    Situation(name="one-server-metadata", truth="one server, 5 ms a metadata call", testbed=_emulated(metadata=_station(1, 5)),
              load=Replay(STATS), limit="metadata", labels=EMULATED, ceiling=Ceiling(figure="calls/s", value=200)),
    Situation(name="one-server-data", truth="one server, 5 ms a read", testbed=_emulated(data=_station(1, 5)),
              load=Replay(SMALL_READS), limit="data", labels=EMULATED, ceiling=Ceiling(figure="calls/s", value=200)),
    Situation(name="four-servers-data", truth="four servers, 20 ms a read, eight clients",
              testbed=_emulated(data=_station(4, 20)), load=Replay(Calls("read", streams=8, each=125, size=4096)),
              limit="data", labels=EMULATED, ceiling=Ceiling(figure="calls/s", value=200)),
    Situation(name="delay", truth="10 ms a call, no queue, four clients", testbed=_emulated(metadata=DELAY),
              load=Replay(Calls("stat", each=500)), limit="delays", labels=EMULATED,
              ceiling=Ceiling(figure="calls/s", value=400)),
    Situation(name="delay-latency", truth="10 ms a call: that is the median", testbed=_emulated(metadata=DELAY),
              load=Replay(Calls("stat", each=500)), limit="delays", labels=EMULATED,
              ceiling=Ceiling(figure="service p50 µs", value=10_000)),
    Situation(name="delay-many", truth="40 ms a call, no queue, sixteen clients", testbed=_emulated(metadata=_station(64, 40)),
              load=Replay(Calls("stat", streams=16, each=125)), limit="delays", labels=EMULATED,
              ceiling=Ceiling(figure="calls/s", value=400)),
    Situation(name="disk-misses", truth="1 ms a read, and a cache that misses one in four: 36 ms more, one client",
              testbed=_emulated(data=_station(64, 1), disk="read_ms = 36.0\nread_miss = 0.25"),
              load=Replay(Calls("read", streams=1, each=500, size=4096)), limit="delays", labels=EMULATED,
              ceiling=Ceiling(figure="calls/s", value=100)),
    Situation(name="under-the-limit", truth="2 MB/s asked of a link of 8 MB/s", testbed=_emulated(link=_link(8)),
              load=Replay(Calls("read", each=120, size=KB64, every_ms=131.072), pace="schedule"), limit="pace",
              labels=EMULATED, ceiling=Ceiling(figure="bytes/s", value=2 * MB)),
    Situation(name="over-the-limit", truth="32 MB/s asked of a link of 8 MB/s", testbed=_emulated(link=_link(8)),
              load=Replay(Calls("read", each=160, size=KB64, every_ms=8.192), pace="schedule"), limit="link",
              labels=EMULATED, ceiling=Ceiling(figure="bytes/s", value=8 * MB)),
    Situation(name="no-filer-at-all", truth="an emulated filer without any limit, one processor for all",
              testbed=_emulated(metadata="servers = 64"), load=Replay(Calls("stat", each=30_000), processors=1),
              limit="generator", labels=(*EMULATED, GENERATOR), never=()),
    # Replays on real storage.
    Situation(name="memory", truth="memory: processors", testbed=Memory(), load=Replay(Calls("stat", each=100_000)),
              limit="generator", labels=(CACHED, GENERATOR), never=(UNDECLARED,)),
    Situation(name="loop-read", truth="a block device of 8 MB/s (loop, blkio)", testbed=Loop(256, mb_per_s=8),
              load=Replay(READS), limit="storage", labels=(CACHED,), ceiling=Ceiling(figure="bytes/s", value=8 * MB)),
    Situation(name="moosefs-read", truth=f"MooseFS, {NAS}", testbed=Mounted("moosefs", "200mbit"), load=Replay(BIG_READS),
              limit="storage", labels=(CACHED, UNDECLARED), ceiling=Ceiling(figure="bytes/s", value=25 * MB)),
    Situation(name="moosefs-write", truth=f"MooseFS, {NAS}, cache declared", testbed=Mounted("moosefs", "200mbit"),
              load=Replay(BIG_WRITES, more=("--filer-cache", "0B")), limit="storage", labels=(CACHED,),
              never=(GENERATOR, UNDECLARED), ceiling=Ceiling(figure="bytes/s", value=25 * MB)),
    Situation(name="glusterfs-read", truth=f"GlusterFS, {NAS}", testbed=Mounted("glusterfs", "200mbit"),
              load=Replay(BIG_READS), limit="storage", labels=(CACHED, UNDECLARED),
              ceiling=Ceiling(figure="bytes/s", value=25 * MB)),
    Situation(name="small-memory", truth="a client of 1 GiB (control group), files of 3.4 GB: no cache holds them",
              testbed=SmallMemory(1024), load=Replay(FILES), limit=None, never=(CACHED, UNDECLARED, NO_BASELINE)),
    Situation(name="small-memory-cached", truth="the same, and a filer with a cache of 1 GB", testbed=SmallMemory(1024),
              load=Replay(FILES, more=("--filer-cache", "1GB")), limit=None,
              labels=(CACHED,), never=(UNDECLARED,)),
    # Discoveries, each with its pair on null storage.
    Situation(name="discovery-link", truth="a link of 3 MB/s", testbed=_emulated(link=_link(3)), load=ScaleUp(),
              limit="link", labels=(*EMULATED, CACHED), share=0.6),
    Situation(name="discovery-server", truth="one server, 5 ms a metadata call", testbed=_emulated(metadata=_station(1, 5)),
              load=ScaleUp(), limit="metadata", labels=(*EMULATED, CACHED), share=0.6),
    Situation(name="discovery-delay", truth="40 ms a call, no queue",
              testbed=_emulated(metadata=_station(64, 40), data=_station(64, 40)), load=ScaleUp(), limit="delays",
              labels=(*EMULATED, CACHED), share=0.6),
    Situation(name="discovery-fast-filer", truth="20 µs a call: processors",
              testbed=_emulated(metadata=_station(64, 0.02), data=_station(64, 0.02)), load=ScaleUp(scale=0.002), limit="generator",
              labels=(*EMULATED, CACHED, GENERATOR), never=()),
    Situation(name="discovery-memory", truth="memory: processors", testbed=Memory(), load=ScaleUp(scale=0.002), limit="generator",
              labels=(CACHED, GENERATOR), never=(UNDECLARED,)),
    Situation(name="discovery-one-processor", truth="memory, one processor for all", testbed=Memory(),
              load=ScaleUp(scale=0.002, processors=1), limit="generator", labels=(CACHED, GENERATOR), never=(UNDECLARED,)),
    Situation(name="discovery-loop", truth="a block device of 2 MB/s (loop, blkio)", testbed=Loop(256, mb_per_s=2),
              load=ScaleUp(more=("--cold",)), limit="storage", labels=(CACHED,), share=0.3),
    Situation(name="discovery-moosefs", truth="MooseFS, 2.5 MB/s link", testbed=Mounted("moosefs", "20mbit"),
              load=ScaleUp(), limit="storage", labels=(CACHED, UNDECLARED), share=0.6),
    Situation(name="discovery-glusterfs", truth="GlusterFS, 2.5 MB/s link", testbed=Mounted("glusterfs", "20mbit"),
              load=ScaleUp(more=("--filer-cache", "0B")), limit="storage", labels=(CACHED,), never=(GENERATOR, UNDECLARED),
              share=0.6),
    # Jobs, and their traces replayed in a closed loop: how long a job takes is what the replay has to say.
    *_jobs("queues", "two servers of 3 and 4 ms, a link of 20 MB/s", Emulated(_queues(1), slower=_queues(2)), EMULATED),
    *_jobs("glusterfs", "GlusterFS, 2.5 MB/s link", Mounted("glusterfs", "20mbit", slower="10mbit"), (CACHED,)),
    *_jobs("moosefs", "MooseFS, 2.5 MB/s link", Mounted("moosefs", "20mbit", slower="10mbit"), (CACHED,)),
    *_jobs("glusterfs-moosefs", "recorded on GlusterFS, 2.5 MB/s link; MooseFS with half of that for the replay and the job held"
           " against it", Moved(Mounted("glusterfs", "20mbit"), Mounted("moosefs", "10mbit")), (CACHED,), (True,)),
    *_jobs("local-glusterfs", "recorded on local storage; GlusterFS, 1.25 MB/s link, for the replay and the job held against it",
           Moved(Local(), Mounted("glusterfs", "10mbit")), (CACHED,), (True,)),
    # Profiles. A directory costs 1 ms a file and 1 µs more for each that is there: 3,000 take 3 + 4.5 s.
    Situation(name="drift-emulated", truth="1 ms a file, and 1 µs more for each that the directory has",
              testbed=_emulated(metadata="servers = 1\nservice_us.create = 1000.0", directory="entry_us = 1.0"),
              load=Profile("insert-drift", GROUPS), limit="metadata", labels=(*EMULATED, CACHED, DRIFT),
              ceiling=Ceiling(figure="files/s", value=400)),
    Situation(name="drift-none-emulated", truth="2 ms a file, however many there are",
              testbed=_emulated(metadata="servers = 1\nservice_us.create = 2000.0"), load=Profile("insert-drift", GROUPS),
              limit="metadata", labels=(*EMULATED, CACHED), never=(GENERATOR, DRIFT),
              ceiling=Ceiling(figure="files/s", value=500)),
    Situation(name="drift-ext4", truth="ext4 whose directories have no index: each name is looked for among all",
              testbed=Loop(400, features="^dir_index"), limit=None, labels=(CACHED, DRIFT), never=(),
              load=Profile("insert-drift", ("files=20000", "group=500", "clients=1", "directories=shared"))),
    Situation(name="refused", truth="a server that takes ten: of 25 clients 15 are refused, to write, read and remove",
              testbed=Takes(10, clients=25), limit=None, never=(UNDECLARED,), ceiling=Ceiling(figure="refused", value=45, within=0.0),
              load=Profile("client-sweep", ("clients=25", "start=together", "size=100000"))),
    Situation(name="dedup-chunks", truth="backups and a shifted copy, cut by an independent chunker: 4K, 8K, 128K, content-defined",
              testbed=Local(), load=Deduplicated(), limit=None, labels=(CACHED,), never=(UNDECLARED,),
              ceiling=Ceiling(figure="x the chunker's ratio", value=1.0, within=0.02)),
    *PROFILES,
    # Room.
    Situation(name="disk-fills", truth="a disk of 8 MB fills", testbed=Loop(8), load=Discovery(), limit="space",
              labels=("SUSPENDED",), never=()),
    Situation(name="disk-too-small", truth="42 MB do not go on a disk of 32 MB: refused", testbed=Loop(32),
              load=Replay(READS), limit="space", labels=("REFUSED",)),
    Situation(name="disk-suffices", truth="the same discovery, a disk of 256 MB", testbed=Loop(256), load=Discovery(),
              limit=None, labels=(CACHED,), never=("SUSPENDED", UNDECLARED)),
)  # fmt: skip
