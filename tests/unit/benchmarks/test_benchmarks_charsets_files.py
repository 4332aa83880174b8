"""What `make bench-charsets BENCH_ARGS="--files DIR"` counts."""

from __future__ import annotations

from pathlib import Path

from benchmarks.charsets.files import readings, report, silent

TEXT = "Уважаемые коллеги, направляю вам протокол вчерашнего совещания и прошу прислать замечания до пятницы.\n"


def test_a_folders_name_is_the_truth(tmp_path: Path) -> None:
    """Files are read in three carriers at each length that they have; one that is not in its folder's charset is left out, and one in
    the wrong folder is wrong, and silently so."""
    for folder, name, data in (
        ("koi8-r", "a.txt", ("plain\n" + TEXT).encode("koi8-r")),
        ("utf-8", "b.txt", TEXT.encode("koi8-r")),
        ("cp1251", "c.xml", f"<b>{TEXT}</b>".encode("koi8-r")),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(data)
    read, left_out = readings(tmp_path)
    assert left_out == ["utf-8/b.txt"]
    assert {(one.piece.label, one.right, one.charset) for one in read if one.piece.carrier == "txt"} == {
        ("koi8-r", True, "koi8-r"),
        ("cp1251", False, "koi8-r"),
    }
    assert {one.piece.carrier for one in read} == {"txt", "html", "eml"}
    assert any(map(silent, read))
    assert "| koi8-r |" in "\n".join(report(read, left_out))
