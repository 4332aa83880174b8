"""Names of members that say no charset, and are too short for the detector."""

from __future__ import annotations

import io
import zipfile

import pytest
from effort import takes_at_most
from unpacking import unpack

from readers.archives.name_letters import by_letters

# Those that letters tell, and those of other charsets that look like them.
TOLD = {
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


def _archive(*names: bytes) -> bytes:
    """A zip archive whose names are these bytes, without the flag that they are UTF-8."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for number, name in enumerate(names):
            file.writestr(str(number).zfill(len(name)), b"word\n")
    data = bytearray(out.getvalue())
    for number, name in enumerate(names):
        data = bytearray(bytes(data).replace(str(number).zfill(len(name)).encode(), name))
    return bytes(data)


@pytest.mark.parametrize("codec", TOLD)
def test_charsets_that_letters_tell(codec: str) -> None:
    for name in TOLD[codec]:
        assert by_letters(name.encode(codec)) == codec
        found = unpack(b"x.zip", _archive(name.encode(codec)))
        assert ("x.zip", name) in found.by_path


@pytest.mark.parametrize("codec", OTHERS)
def test_names_that_only_look_like_those(codec: str) -> None:
    for name in OTHERS[codec]:
        assert by_letters(name.encode(codec)) == ""


def test_names_of_several_charsets_in_an_archive() -> None:
    names = {codec: TOLD[codec][0] for codec in TOLD}
    found = unpack(b"x.zip", _archive(*(name.encode(codec) for codec, name in names.items())))
    assert {path[-1] for path in found.by_path} == {"x.zip", *names.values()}


@pytest.mark.parametrize(
    "names", [["見積書.xls", "請求書.pdf", "議事録.doc"], ["田中太郎.vcf"], ["テスト.txt", "議事録.doc"]]
)
def test_names_without_syllables_follow_the_others(names: list[str]) -> None:
    found = unpack(b"x.zip", _archive(*(name.encode("cp932") for name in names)))
    assert {path[-1] for path in found.by_path} == {"x.zip", *names}


def test_letters_of_dos_next_to_japanese_names() -> None:
    names = {"Übersicht.txt": "cp850", "テスト.txt": "cp932", "größe.doc": "cp850"}
    found = unpack(b"x.zip", _archive(*(name.encode(codec) for name, codec in names.items())))
    assert {path[-1] for path in found.by_path} == {"x.zip", *names}


@pytest.mark.parametrize("letters", [b"\xca", b"\xca\xde", b"\xca\xdf\xa7", b"\xb7\xac", b"\xd1\x88"])
def test_letters_that_end_in_no_word_take_no_time(letters: bytes) -> None:
    takes_at_most(0.5, lambda: by_letters(letters * 300 + b"\xa7\xa7."))
