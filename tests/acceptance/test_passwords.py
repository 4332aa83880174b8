"""What a person does with encrypted data: run, collect passwords, have the encrypted exceptions gone over again."""

from encrypted import OFFICE_PASSWORD, archive, old_office
from installation import Bench

SECRET = "geheim, mit Komma"


def test_encrypted_exceptions_are_opened_by_passwords_that_are_found_later(bench: Bench) -> None:
    """The first run says what is encrypted; the second opens it, and no password stands in what is printed or logged."""
    ann = bench.home / "source" / "ann"
    ann.mkdir(parents=True)
    (ann / "letter.doc").write_bytes(old_office("rc4cryptoapi_password.doc"))
    for method in ("ZipCrypto", "AES256"):
        name = f"{method}.zip"
        made = archive(
            bench.home / "made", name, {f"{method}.txt": b"sesame"}, "-tzip", f"-mem={method}", f"-p{SECRET}"
        )
        (ann / name).write_bytes(made)
    bench.end(bench.discover("--workers", "1", corpus=bench.home / "source"))
    first = bench.result()
    assert (first["exceptions"], first["passwords"]["count"]) == ({"encrypted": 3}, 0)
    found = bench.home / "found.txt"
    found.write_text(f"{SECRET}\n\n{OFFICE_PASSWORD}\n")
    again = ("--code", "encrypted", "--passwords", str(found), "--workers", "1", *bench.to_result)
    shown = bench.edbench("job", "requeue", "last", *again)
    second = bench.result()
    assert (second["state"], second["exceptions"], second["items"]) == ("completed", {}, 5)
    assert second["children"] == {"expected": 2, "emitted": 2, "failed": 0}
    assert second["passwords"]["count"] == 2
    everything = shown.stdout + shown.stderr + (bench.home / "r.json").read_text()
    everything += "".join(log.read_text(errors="replace") for log in (bench.scratch / "logs").glob("*.log"))
    assert SECRET not in everything
    assert OFFICE_PASSWORD not in everything
