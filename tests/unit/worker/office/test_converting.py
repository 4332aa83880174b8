"""worker.office: documents through LibreOffice, one of which may kill it, hold it up or take it over."""

import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from documents import make

from core.errors import SystemFault
from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from worker.office.converting import Bounds, Converter, Document, Office, OfficeUnavailable, Verdict, find_office

_PYTHON = Path("/usr/bin/python3")  # of the system, which a confined program may read
_FIRST = 'case "$*" in *terminate_after_init*) exit 0;; esac'
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_PDF = r"printf '%%PDF-1.4\n%%%%EOF\n'"


def _stand_in(directory: Path, script: str) -> Office:
    """A program in LibreOffice's place that does what no LibreOffice can be had to do."""
    program = directory / "soffice.bin"
    program.write_text(f"#!/bin/sh\n{_FIRST}\n{script}\n")
    program.chmod(0o755)
    return Office(str(program), "7.4", ("writer",))


def _converted(office: Office, scratch: Path, documents: list[Document], bounds: Bounds | None = None) -> list[Verdict]:
    converter = Converter(office, scratch, Limits(parse_bytes=50_000_000), lambda: None, bounds or Bounds())
    verdicts = dict(converter.converted(documents))
    assert not list(scratch.glob("office-*"))  # nothing stays on scratch
    return [verdicts[place] for place in range(len(documents))]


def _one(office: Office, scratch: Path, bounds: Bounds | None = None) -> Verdict:
    return _converted(office, scratch, [Document("application/msword", MemorySource(b"x", b"some"))], bounds)[0]


def _code(verdict: Verdict) -> ExceptionCode:
    assert isinstance(verdict, DocumentError), verdict
    assert "\n" not in verdict.detail
    return verdict.code


def _need_office() -> Office:
    try:
        office = find_office()
    except OfficeUnavailable as error:
        pytest.skip(str(error))
    if len(office.parts) < 3:
        pytest.skip(f"LibreOffice here has only {', '.join(office.parts)}")
    return office


def _pages(pdf: Verdict) -> list[bytes]:
    assert isinstance(pdf, bytes), pdf
    with pdfium.PdfDocument(pdf) as document:
        return [bytes(page.render(scale=1, grayscale=True).buffer) for page in document]


def test_documents_become_pages_that_are_always_the_same(tmp_path: Path) -> None:
    """Word, spreadsheet and presentation, old and new, and one that is damaged, in two processes at the same time: what one
    draws, the other draws."""
    office = _need_office()
    datas = [make(kind, 3, 6_000).data for kind in ("docx", "xlsx", "ppt", "rtf")]
    datas.append(datas[0][:-300])
    documents = [Document(identify(source, None), source) for source in (MemorySource(b"x", data) for data in datas)]
    documents[-1] = Document(documents[0].media_type, documents[-1].source)
    places = [tmp_path / name for name in ("one", "other")]
    for place in places:
        place.mkdir(mode=0o700)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda place: _converted(office, place, documents), places)
    assert [_pages(pdf) for pdf in one[:4]] == [_pages(pdf) for pdf in other[:4]]
    assert all(len(set(page)) > 1 for pdf in one[:4] for page in _pages(pdf)[:1])  # something is drawn
    assert isinstance(one[-1], DocumentError) == isinstance(other[-1], DocumentError)


def test_one_that_kills_costs_itself_alone(tmp_path: Path) -> None:
    office = _stand_in(
        tmp_path,
        f"""while [ $# -gt 0 ]; do case "$1" in
        *in/000001.doc) kill -SEGV $$;;
        *in/*) name=${{1##*/}}; {_PDF} >"out/${{name%.*}}.pdf";;
        esac; shift; done""",
    )
    documents = [Document("application/msword", MemorySource(b"x", b"some")) for _ in range(4)]
    verdicts = _converted(office, tmp_path, documents)
    assert [isinstance(verdict, bytes) for verdict in verdicts] == [True, False, True, True]
    assert _code(verdicts[1]) is ExceptionCode.KILLED_PARSER


def test_a_bomb_is_not_handed_over(tmp_path: Path) -> None:
    """Of a document with a part of very many bytes LibreOffice draws a nearly empty page; the one beside it is rendered."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(40):
            part.write(bytes(1_000_000))
    office = _stand_in(
        tmp_path, f'for made; do case "$made" in *in/*) name=${{made##*/}}; {_PDF} >"out/${{name%.*}}.pdf";; esac; done'
    )
    good = make("docx", 3, 6_000).data
    datas = (packed.getvalue(), good, good[:-300])
    documents = [Document(_DOCX, MemorySource(b"x", data)) for data in datas]
    bomb, whole, cut = _converted(office, tmp_path, documents)
    assert _code(bomb) is ExceptionCode.EXPANSION_LIMIT
    assert isinstance(whole, bytes)
    assert _code(cut) is ExceptionCode.TRUNCATED


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", ExceptionCode.CORRUPT),
        ("exec sleep 1000", ExceptionCode.TIMEOUT),
        (
            "while :; do printf 'a long line of nothing in particular'; done >out/000000.pdf",
            ExceptionCode.EXPANSION_LIMIT,
        ),
        ("echo terminate called: std::bad_alloc >&2; exit 134", ExceptionCode.MEMORY),
        ("printf nonsense >out/000000.pdf", ExceptionCode.CORRUPT),
        ("exit 3", ExceptionCode.KILLED_PARSER),
    ],
)
def test_codes(tmp_path: Path, script: str, code: ExceptionCode) -> None:
    seconds = 0.3 if code is ExceptionCode.TIMEOUT else 120.0
    bounds = Bounds(seconds=seconds, patience=1.0, scratch_bytes=1_000_000)
    assert _code(_one(_stand_in(tmp_path, script), tmp_path, bounds)) is code


def test_time_is_a_processors(tmp_path: Path) -> None:
    if not _PYTHON.exists():
        pytest.skip(f"{_PYTHON} is not there")
    waits = "import time; time.sleep(0.8); open('out/000000.pdf', 'wb').write(b'%PDF-1.4 %%EOF')"
    bounds = Bounds(seconds=0.5, patience=10_000.0)
    assert isinstance(_one(_stand_in(tmp_path, f'exec {_PYTHON} -c "{waits}"'), tmp_path, bounds), bytes)
    assert _code(_one(_stand_in(tmp_path, "while :; do :; done"), tmp_path, bounds)) is ExceptionCode.TIMEOUT


_INTRUDER = """#!/usr/bin/python3
import json, os, socket, sys
if "--terminate_after_init" in sys.argv:
    sys.exit(0)
done = []
def attempt(name, action):
    try:
        action()
    except OSError:
        return
    done.append(name)
def unix():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("/tmp/edbench-nobody")
attempt("read", lambda: open("/etc/passwd").read())
attempt("read ours", lambda: open({ours!r}).read())
attempt("write", lambda: open("/tmp/edbench-written", "w"))
attempt("link", lambda: os.symlink("/etc/passwd", "out/link"))
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("internet", lambda: socket.socket(socket.AF_INET))
attempt("datagrams", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("connect", unix)
attempt("its parent", lambda: os.kill(os.getppid(), 0))
told = {{"done": done, "environment": sorted(os.environ), "root": os.getuid() == 0}}
open("out/000000.pdf", "wb").write(b"%PDF-1.4" + json.dumps(told).encode() + b"%%EOF")
"""


def test_one_that_was_taken_over_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither files but its own, nor a network, other programs or our environment."""
    if not _PYTHON.exists():
        pytest.skip(f"{_PYTHON} is not there")
    monkeypatch.setenv("EDBENCH_TOKEN", "secret")
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    secret = scratch / "secret"
    secret.write_text("secret")
    (tmp_path / "program").mkdir()  # which it may read
    office = _stand_in(tmp_path / "program", "")
    Path(office.program).write_text(_INTRUDER.format(ours=str(secret)))
    pdf = _one(office, scratch)
    assert isinstance(pdf, bytes), pdf
    reported = json.loads(pdf[len(b"%PDF-1.4") : -len(b"%%EOF")])
    assert reported["done"] == []
    assert "EDBENCH_TOKEN" not in reported["environment"]
    assert not Path("/tmp/edbench-written").exists()


def test_a_link_in_place_of_a_pdf_is_not_followed(tmp_path: Path) -> None:
    """What a process leaves may be anything, if it could make it."""
    outside = tmp_path / "outside.pdf"
    outside.write_bytes(b"%PDF-1.4 secret %%EOF")
    converter = Converter(_stand_in(tmp_path, ""), tmp_path, Limits(parse_bytes=1_000), lambda: None)
    link = tmp_path / "link.pdf"
    link.symlink_to(outside)
    assert converter._whole(link, 1_000) is None
    large = tmp_path / "large.pdf"
    large.write_bytes(b"%PDF-1.4" + bytes(2_000) + b"%%EOF")
    found = converter._whole(large, 1_000)
    assert found is not None
    assert _code(found) is ExceptionCode.TOO_LARGE


def test_a_document_has_the_limits_of_the_discovery_that_found_it(tmp_path: Path) -> None:
    converter = Converter(_stand_in(tmp_path, ""), tmp_path, Limits(), lambda: None)
    document = Document("application/msword", MemorySource(b"x", b"some"), Limits(parse_bytes=3))
    ((_, verdict),) = converter.converted([document])
    assert _code(verdict) is ExceptionCode.TOO_LARGE


def test_one_that_cannot_be_started_is_no_documents_fault(tmp_path: Path) -> None:
    """Gone since the job began: the job is suspended."""
    with pytest.raises(SystemFault, match="LibreOffice"):
        _one(Office(str(tmp_path / "gone"), "7", ("writer",)), tmp_path)


def test_what_is_no_libreoffice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OfficeUnavailable, match="not installed"):
        find_office()
    (tmp_path / "soffice").write_text("#!/bin/sh\n")
    (tmp_path / "soffice").chmod(0o755)
    with pytest.raises(OfficeUnavailable, match="not a known version of LibreOffice"):
        find_office()
