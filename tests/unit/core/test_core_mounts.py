"""The kernel's mount table, as proc_pid_mountinfo(5) has it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mounts import holding, parse_mountinfo, unescaped

MOUNTINFO = r"""25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro
61 25 0:52 /sub /mnt/with\040space rw,relatime shared:9 master:2 - nfs4 filer:/my\040export rw,vers=4.2,soft
62 25 0:53 / /mnt/filer rw - nfs filer:/a rw
63 25 0:54 / /mnt/filer rw - tmpfs tmpfs rw
nonsense
"""


def test_fields_and_escapes_are_read_and_other_lines_left_out() -> None:
    entries = parse_mountinfo(MOUNTINFO)
    assert [entry.id for entry in entries] == [25, 61, 62, 63]
    nfs = entries[1]
    assert (nfs.device, nfs.point, nfs.kind, nfs.source) == ("0:52", "/mnt/with space", "nfs4", "filer:/my export")
    assert nfs.options == ("rw", "relatime", "vers=4.2", "soft")


@pytest.mark.parametrize(
    ("path", "device"),
    [("/home", "254:0"), ("/mnt/with space/x", "0:52"), ("/mnt/filer", "0:54"), ("/mnt/filer2", "254:0")],
)
def test_the_innermost_and_latest_mount_holds_a_path(path: str, device: str) -> None:
    mount = holding(path, parse_mountinfo(MOUNTINFO))
    assert mount is not None
    assert mount.device == device
    assert holding(path, []) is None


@given(st.binary(max_size=200))
def test_no_table_breaks_it(junk: bytes) -> None:
    parse_mountinfo(MOUNTINFO[:90] + os.fsdecode(junk))


def test_an_escaped_name_keeps_its_bytes() -> None:
    assert os.fsencode(unescaped(os.fsdecode(b"/a\xff\\040b\xc3\xa4"))) == b"/a\xff b\xc3\xa4"
    assert os.fsencode(unescaped(r"/\303\244")) == "/ä".encode()
