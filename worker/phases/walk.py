"""Phase walk: list directories, stat files, cut batches for expand (design §3.1).

Links are never followed and special files never opened: they become items with an exception at once. A directory that
cannot be listed becomes an item too, so that the loss of its content is recorded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.records import ITEM_COST, NewTask, Phase, full
from core.storage.layer import EntryKind
from core.storage.whole import WHOLE, Parts
from readers.errors import DocumentError
from sql.findings import TaskResult
from worker.items.findings import CHARACTERS_A_ROW, Findings
from worker.items.loose import DIRECTORY_TYPE, UNKNOWN_TYPE, loose_row, special
from worker.phases.task import TaskWork, path_bytes, path_text
from worker.slots.breadcrumb import Activity

_T = TypeVar("_T")
DIRECTORIES_A_TASK = 64  # listed by one task; deeper ones become follow-on tasks
DIRECTORIES_A_FOLLOW_ON = 16
_PATHS_AN_ITEM = 5  # size of a loose file's row in lengths of its path: three copies, two of them in hex
LOOK_EVERY = 500  # entries: whether there is enough for a portion, and a sign of life


def run(work: TaskWork) -> TaskResult:
    """List this task's directories and their entries, breadth first, within bounds."""
    return _Walk(work).run()


@dataclass(slots=True)
class _Walk:
    work: TaskWork
    out: Findings = field(default_factory=Findings)
    files: list[list[Any]] = field(default_factory=list)  # [path text, bytes, mtime_ns]
    batch_bytes: int = 0
    todo: deque[bytes] = field(default_factory=deque)  # directories that this task will list …
    beyond: list[bytes] = field(default_factory=list)  # … and those beyond its bounds
    listed: int = 0
    noted: int = 0  # in rows of ordinary size: what follow-on tasks are for, since the last portion
    deeper: bool = True  # whether it lists what is below its directories
    parts: Parts = WHOLE  # of the source's file system, when it began

    def run(self) -> TaskResult:
        payload = self.work.claimed.payload
        self.parts = self.work.source_parts()
        self.todo.extend(path_bytes(text) for text in payload["directories"])
        self.deeper = not payload.get("files_only", False)
        while self.todo and self.listed < DIRECTORIES_A_TASK:
            self.listed += 1
            self._directory(self.todo.popleft())
        self._check_whole()
        self._cut_batch()
        self.beyond.extend(self.todo)
        self._hand_on()
        return self.out.result()

    def _hand_on(self) -> None:
        """Add follow-on tasks for what has been found, except the batch of files that is being gathered."""
        for group in _groups(self.beyond, DIRECTORIES_A_FOLLOW_ON):
            payload = {"custodian": self.custodian, "directories": [path_text(d) for d in group], "files_only": False}
            self.out.follow_on.append(NewTask(phase=Phase.WALK, weight=len(group), payload=payload))
        self.beyond.clear()
        # The items made here are found by name like every other, in single-pass mode too.
        for items in _groups(self.out.items, self.work.job.options.batch_files):
            ids = [item.id.hex for item in items]
            self.out.follow_on.append(NewTask(phase=Phase.INDEX, weight=len(items), payload={"items": ids}))

    def _pause(self) -> None:
        """Write a portion of the findings once they are many."""
        if self.noted + self.out.rows >= self.work.portions.rows:
            self._check_whole()
            self._hand_on()
            self.work.write_portion(self.out.portion())
            self.noted = 0

    def _check_whole(self) -> None:
        """Raise StorageFault if a part of the source was away meanwhile: its content was in no listing."""
        if self.work.source_parts() != self.parts:
            raise StorageFault(
                f"a part of the file system of {display_name(self.work.job.source)} was temporarily unavailable "
                "while it was listed; resume the job"
            )

    @property
    def custodian(self) -> int:
        return int(self.work.claimed.payload["custodian"])

    def _directory(self, relative: bytes) -> None:
        """Book the files of one directory and note its subdirectories; it may have millions of either."""
        breadcrumb, path = self.work.context.breadcrumb, self.work.source_path(relative)
        breadcrumb.doing(Activity.LISTING, path)
        try:
            listing = self.work.storage.listing(path, self.work.context.scratch, breadcrumb.alive)
        except SourceFileError as e:
            self.work.check_source_root()
            self._failed(relative, e, DIRECTORY_TYPE)
            return
        with listing:
            for entries in listing:
                for number, entry in enumerate(entries):
                    if number % LOOK_EVERY == 0:
                        self._pause()
                        breadcrumb.doing(Activity.STATTING, path)
                    below = os.path.join(relative, entry.name)
                    if entry.kind is not EntryKind.DIRECTORY:
                        self._file(below)
                    elif self.deeper:
                        self._below(below)

    def _below(self, directory: bytes) -> None:
        """Queue a subdirectory, here or in a follow-on task."""
        if len(self.todo) < DIRECTORIES_A_TASK - self.listed:
            self.todo.append(directory)
        else:
            self.beyond.append(directory)
            self.noted += _rows(directory)

    def _file(self, relative: bytes) -> None:
        try:
            status = self.work.storage.stat(self.work.source_path(relative))
        except SourceFileError as e:
            self.work.check_source_root()
            self._failed(relative, e, UNKNOWN_TYPE)
            return
        if (other := special(status.st_mode)) is not None:
            self._failed(relative, other[1], other[0])
            return
        options = self.work.job.options
        if full(len(self.files), self.batch_bytes, status.st_size, options.batch_files, options.batch_bytes):
            self._cut_batch()
        self.files.append([path_text(relative), status.st_size, status.st_mtime_ns])
        self.batch_bytes += status.st_size

    def _failed(self, relative: bytes, error: DocumentError, media_type: str) -> None:
        item = loose_row(self.work.job.id, self.custodian, relative, media_type=media_type)
        self.out.items.append(item)
        self.out.characters += _PATHS_AN_ITEM * len(relative)
        self.out.item_failed(item.id, error)

    def _cut_batch(self) -> None:
        if self.files:
            payload = {"custodian": self.custodian, "files": self.files}
            weight = self.batch_bytes + ITEM_COST * len(self.files)
            self.out.follow_on.append(NewTask(phase=Phase.EXPAND, weight=weight, payload=payload))
            self.noted += sum(_rows(path) for path, _, _ in self.files)
            self.files, self.batch_bytes = [], 0


def _rows(path: bytes | str) -> int:
    """Return how many rows of ordinary size a file or directory of this path counts as."""
    return 1 + len(path) // CHARACTERS_A_ROW


def _groups(values: list[_T], size: int) -> Iterator[list[_T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
