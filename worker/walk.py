"""Phase walk: list directories, stat files, cut batches for expand (design §3.1).

Links are never followed and special files never opened: they become items with an exception here and now. A
directory that cannot be listed becomes an item too, so that nothing under it is lost without a word.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.errors import DocumentError, SourceFileError
from core.records import NewTask, Phase, TaskResult
from core.storage import EntryKind
from worker.findings import Findings
from worker.loose import DIRECTORY_TYPE, UNKNOWN_TYPE, loose_row, special
from worker.task import TaskWork, path_bytes, path_text

_T = TypeVar("_T")
DIRECTORIES_A_TASK = 64  # listed by one task; what lies deeper becomes follow-on tasks
DIRECTORIES_A_FOLLOW_ON = 16


def run(work: TaskWork) -> TaskResult:
    """List this task's directories and what lies under them, breadth first, within bounds."""
    return _Walk(work).run()


@dataclass(slots=True)
class _Walk:
    work: TaskWork
    out: Findings = field(default_factory=Findings)
    files: list[list[Any]] = field(default_factory=list)  # [path text, bytes, mtime_ns]
    batch_bytes: int = 0

    def run(self) -> TaskResult:
        payload = self.work.claimed.payload
        todo = deque(path_bytes(text) for text in payload["directories"])
        deeper = not payload.get("files_only", False)
        listed = 0
        while todo and listed < DIRECTORIES_A_TASK:
            listed += 1
            below = self._directory(todo.popleft())
            if deeper:
                todo.extend(below)
        self._cut_batch()
        self._follow_on(list(todo))
        self._index_failed()
        return self.out.result()

    @property
    def custodian(self) -> int:
        return int(self.work.claimed.payload["custodian"])

    def _directory(self, relative: bytes) -> list[bytes]:
        """Book the files of one directory; gives its subdirectories."""
        try:
            entries = self.work.storage.scan(self.work.source_path(relative))
        except SourceFileError as e:
            self.work.check_source_root()
            self._failed(relative, e, DIRECTORY_TYPE)
            return []
        below = []
        for entry in sorted(entries, key=lambda e: e.name):
            path = os.path.join(relative, entry.name)
            if entry.kind is EntryKind.DIRECTORY:
                below.append(path)
            else:
                self._file(path)
        return below

    def _file(self, relative: bytes) -> None:
        try:
            found = self.work.storage.stat(self.work.source_path(relative))
        except SourceFileError as e:
            self.work.check_source_root()
            self._failed(relative, e, UNKNOWN_TYPE)
            return
        if (other := special(found.st_mode)) is not None:
            self._failed(relative, other[1], other[0])
            return
        options = self.work.job.options
        if self.files and (
            len(self.files) >= options.batch_files or self.batch_bytes + found.st_size > options.batch_bytes
        ):
            self._cut_batch()
        self.files.append([path_text(relative), found.st_size, found.st_mtime_ns])
        self.batch_bytes += found.st_size

    def _failed(self, relative: bytes, error: DocumentError, media_type: str) -> None:
        item = loose_row(self.work.job.id, self.custodian, relative, media_type=media_type)
        self.out.items.append(item)
        self.out.item_failed(item.id, error)

    def _cut_batch(self) -> None:
        if self.files:
            payload = {"custodian": self.custodian, "files": self.files}
            # A constant for each file: opening many small ones costs more than their bytes say.
            weight = self.batch_bytes + 4_096 * len(self.files)
            self.out.follow_on.append(NewTask(phase=Phase.EXPAND, weight=weight, payload=payload))
            self.files, self.batch_bytes = [], 0

    def _follow_on(self, directories: list[bytes]) -> None:
        for group in _groups(directories, DIRECTORIES_A_FOLLOW_ON):
            payload = {"custodian": self.custodian, "directories": [path_text(d) for d in group], "files_only": False}
            self.out.follow_on.append(NewTask(phase=Phase.WALK, weight=len(group), payload=payload))

    def _index_failed(self) -> None:
        """What became an item here is found by its name like every other, in single-pass mode too."""
        for group in _groups(self.out.items, self.work.job.options.batch_files):
            payload = {"items": [item.id.hex for item in group]}
            self.out.follow_on.append(NewTask(phase=Phase.INDEX, weight=len(group), payload=payload))


def _groups(values: list[_T], size: int) -> Iterator[list[_T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
