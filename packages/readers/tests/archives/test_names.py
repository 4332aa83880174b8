"""Names in archives that do not say which charset they are in."""

import gzip
import tarfile

import pytest
from archive_files import cpio, tarred
from bad_files import raw_zip
from effort import takes_at_most
from unpacking import unpack

from core.records import Limits
from readers.archives.names import by_letters, shown
from readers.base import Child, MemorySource
from readers.registry import handler_for

RUSSIAN = ["Отчёт за третий квартал.doc", "Договор поставки оборудования.pdf", "plain.txt", "Счёт-фактура.xls"]
JAPANESE = ["会議の議事録と資料.txt", "契約書の写し.pdf"]
GREEK = ["Οικονομική κατάσταση της εταιρείας.doc"]


def _zip(*names: bytes) -> bytes:
    """A zip archive whose names are these bytes, without the flag that they are UTF-8."""
    return raw_zip([(name, b"word\n") for name in names])


def _shown(media_type: str, data: bytes) -> list[str]:
    children = handler_for(media_type).children(MemorySource(b"x", data), Limits())
    return [child.name.decode() if child.shown is None else child.shown for child in children]


@pytest.mark.parametrize(
    ("names", "charset"),
    [(RUSSIAN, "cp1251"), (RUSSIAN, "cp866"), (RUSSIAN, "koi8-r"), (RUSSIAN, "utf-8"), (JAPANESE, "cp932"), (GREEK, "cp1253")],
)  # fmt: skip
def test_names_are_shown_as_they_were_written(names: list[str], charset: str) -> None:
    files = [(name, b"") for name in names]
    tar = tarred(files, tarfile.USTAR_FORMAT, charset)
    assert _shown("application/x-tar", tar) == names
    assert _shown("application/gzip", gzip.compress(tar)) == names
    assert _shown("application/x-cpio", cpio(files, charset)) == names
    one = b"\x1f\x8b\x08\x08" + bytes(6) + names[0].encode(charset) + b"\0" + gzip.compress(b"x", mtime=0)[10:]
    assert _shown("application/gzip", one) == names[:1]
    found = handler_for("application/x-tar").children(MemorySource(b"x", tar), Limits())
    assert [child.name for child in found] == [name.encode(charset) for name in names]


def test_an_unsure_charset_is_noted_as_a_guess() -> None:
    children = [Child(name=b"\xe4\xc3", kind=None, ordinal=0), Child(name=b"\xe4", kind=None, ordinal=1, shown="known")]  # type: ignore[arg-type]
    guessed, known = shown(children)
    assert guessed.shown is not None
    assert len(guessed.shown) == 2
    assert "name_charset" in guessed.notes
    assert (known.shown, known.notes) == ("known", {})


@pytest.mark.parametrize(
    ("name", "charset", "guessed"),
    [
        ("Договор.txt", "cp866", "cp866"),
        ("Договор.txt", "cp1251", "cp1251"),
        ("契約書.txt", "cp932", "cp932"),
        ("Übersicht Größe.txt", "cp1252", "cp1252"),
        ("Übersicht.txt", "cp850", "cp437"),
        ("Übersicht.txt", "utf-8", None),
        ("plain.txt", "ascii", None),
    ],
)
def test_the_charset_of_a_single_name_of_a_zip_is_noted_as_a_guess(
    name: str, charset: str, guessed: str | None
) -> None:
    """Its bytes stay; where code page 437 gives letters these are shown."""
    (child,) = handler_for("application/zip").children(MemorySource(b"x", _zip(name.encode(charset))), Limits())
    assert child.name == name.encode(charset)
    assert (child.shown or child.name.decode()) == name
    assert child.notes == ({"name_charset": guessed} if guessed else {})


def test_names_of_a_zip_that_are_sure_together_are_no_guess() -> None:
    found = list(
        handler_for("application/zip").children(
            MemorySource(b"x", _zip(*(name.encode("cp866") for name in RUSSIAN))), Limits()
        )
    )
    assert [child.shown or child.name.decode() for child in found] == RUSSIAN
    assert [child.notes for child in found] == [{}] * len(RUSSIAN)


def test_a_name_that_the_charset_of_the_others_cannot_be_is_read_alone() -> None:
    data = _zip("Договор поставки.doc".encode("cp866"), "Приложение.doc".encode("cp1251"))
    found = list(handler_for("application/zip").children(MemorySource(b"x", data), Limits()))
    assert [child.shown for child in found] == ["Договор поставки.doc", "Приложение.doc"]
    assert all("name_charset" in child.notes for child in found)


# Those that letters tell, and those of other charsets that look like them.
RECOGNISED = {
    "cp932": [
        "ソフト一覧表.txt",
        "テスト.txt",
        "新しいフォルダー",
        "レポート(最終).doc",
        "メモ",
        "おしらせ.txt",
        "ﾃｽﾄ.txt",
        "ｶﾀﾛｸﾞ.doc",
        "ﾃｽﾄ結果.xls",
        "ｷｬﾋﾞﾈｯﾄ.txt",
        "ﾋﾟｬﾝﾌﾟﾙ.txt",
        "ﾃﾞｨｽｸ.txt",
    ],
    "cp852": ["Łódź źródło.txt", "Příloha č.doc", "Żółć.txt", "Árvíztűrő tükörfúrógép.txt", "číslo.txt"],
    "cp862": ["חוזה סופי.txt", "דוח שנתי.doc", "שלום עולם.txt"],
}
OTHERS = {
    "cp437": ["Ärger.txt", "señor.txt"],
    "cp850": ["château.txt", "été.txt", "größe.doc", "Übersicht.pdf", "ação.doc", "fête à la plage.txt"],
    "cp866": ["Договор.doc", "ДОГОВОР.DOC", "Новая папка", "СЧЕТ.TXT", "АКТ.doc"],
    "cp737": ["ΕΓΓΡΑΦΟ.doc", "Νέος φάκελος", "Συμβόλαιο.doc"],
    "cp855": ["Договор.doc"],
    "cp857": ["Sözleşme şartları.doc"],
    "cp874": ["ประวัติ.doc", "รูปภาพ", "สมุด.txt", "สัญญา.doc"],
    "cp1253": ["ΈΓΓΡΑΦΟ.doc", "Συμβόλαιο.doc"],
    "gbk": ["合同.doc", "会议记录.doc", "新建文本文档.txt", "报告最终版.pdf"],
    "big5": ["合約書.doc", "新增資料夾"],
    "cp949": ["계약서.doc", "회의록.hwp", "보고서 최종.hwp"],
    "euc_jp": ["テスト.txt", "請求書.pdf"],
    "cp1250": ["Příloha č.doc", "Łódź.txt"],
    "cp1251": ["Договор.doc", "Новая папка", "ЛІКАР.doc", "УКРАЇНА", "ДОГОВОР.doc"],
    "cp1252": ["château.txt", "größe.doc", "naïve.txt"],
    "cp1255": ["חוזה סופי.txt"],
    "cp1256": ["عقد نهائي.doc"],
}


@pytest.mark.parametrize("codec", RECOGNISED)
def test_charsets_are_recognised_by_their_letters(codec: str) -> None:
    for name in RECOGNISED[codec]:
        assert by_letters(name.encode(codec)) == codec
        found = unpack(b"x.zip", _zip(name.encode(codec)))
        assert ("x.zip", name) in found.by_path


@pytest.mark.parametrize("codec", OTHERS)
def test_names_that_only_look_like_those(codec: str) -> None:
    for name in OTHERS[codec]:
        assert by_letters(name.encode(codec)) == ""


def test_names_of_several_charsets_in_an_zip() -> None:
    names = {codec: RECOGNISED[codec][0] for codec in RECOGNISED}
    found = unpack(b"x.zip", _zip(*(name.encode(codec) for codec, name in names.items())))
    assert {path[-1] for path in found.by_path} == {"x.zip", *names.values()}


@pytest.mark.parametrize(
    "names", [["見積書.xls", "請求書.pdf", "議事録.doc"], ["田中太郎.vcf"], ["テスト.txt", "議事録.doc"]]
)
def test_names_without_syllables_follow_the_others(names: list[str]) -> None:
    found = unpack(b"x.zip", _zip(*(name.encode("cp932") for name in names)))
    assert {path[-1] for path in found.by_path} == {"x.zip", *names}


def test_letters_of_dos_next_to_japanese_names() -> None:
    names = {"Übersicht.txt": "cp850", "テスト.txt": "cp932", "größe.doc": "cp850"}
    found = unpack(b"x.zip", _zip(*(name.encode(codec) for name, codec in names.items())))
    assert {path[-1] for path in found.by_path} == {"x.zip", *names}


@pytest.mark.parametrize("letters", [b"\xca", b"\xca\xde", b"\xca\xdf\xa7", b"\xb7\xac", b"\xd1\x88"])
def test_letters_that_end_in_no_word_take_no_time(letters: bytes) -> None:
    takes_at_most(0.5, lambda: by_letters(letters * 300 + b"\xa7\xa7."))
