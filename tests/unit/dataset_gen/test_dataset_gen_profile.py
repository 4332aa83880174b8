"""Profiles: the shipped ones can be read, a user's own works the same way, mistakes are named by their key."""

from pathlib import Path

import pytest

from core.errors import UsageError
from dataset_gen.planning.files import outline
from dataset_gen.profile import load_profile, profile_names, read_profile

SMALL = """
name = "mine"
version = 3
raw_bytes = 5_000_000
[[custodians]]
mail = "files"
[shares]
mail = 0.4
[formats]
txt = { loose = 1, attached = 1, median = 4000 }
"""


@pytest.mark.parametrize("name", profile_names())
def test_shipped_profiles(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.about
    shown = outline(profile, 0.001)
    assert shown["raw_bytes"] == profile.raw_bytes // 1000
    assert sum(share["share"] for share in shown["shares"].values()) == pytest.approx(1.0)


def test_the_profiles_that_are_asked_for() -> None:
    """The reference, its relatives, and the data types of report R5."""
    wanted = {"reference", "mail-heavy", "documents", "many-small", "few-large", "smoke"}
    assert wanted | {"zeros", "random", "scientific", "backups", "vm-snapshots"} <= set(profile_names())


def test_the_reference_is_that_of_the_report() -> None:
    """45 GB of nine custodians with 4 to 6 GB each, a million items, three million pages, 75 GB discovered."""
    shown = outline(load_profile("reference"), 1.0)
    assert shown["raw_bytes"] == 45_000_000_000
    assert [4e9 <= c["raw_bytes"] <= 6e9 for c in shown["custodians"]] == [True] * 9
    assert shown["items"] == pytest.approx(1_000_000, rel=0.01)
    assert shown["pages"] > 3_000_000
    assert shown["discovered_bytes"] == pytest.approx(75e9, rel=0.01)


def test_one_mail_store_of_several_gb() -> None:
    """The custodian with one PST has three GB of mail at scale 1.0 (2.5 GB as a PST, without base64)."""
    shown = outline(load_profile("reference"), 1.0)
    assert [c["mail_bytes"] > 3e9 for c in shown["custodians"] if c["mail"] == "pst"] == [True, False]
    assert shown["shares"]["mail"]["raw_bytes"] == pytest.approx(
        sum(c["mail_bytes"] for c in shown["custodians"]), abs=9
    )


def test_a_custodian_may_have_a_share_of_mail_of_his_own() -> None:
    """It takes the place of the profile's for him, and none may leave more than nothing for the rest."""
    mine = SMALL.replace('mail = "files"', 'mail = "files"\nmail_share = 0.7\n[[custodians]]\nweight = 3')
    profile = read_profile(mine, "mine.toml")
    assert profile.mail_shares() == (0.7, 0.4)
    assert profile.mail_share() == pytest.approx(0.475)
    assert [c["mail_bytes"] for c in outline(profile, 1.0)["custodians"]] == [875_000, 1_500_000]
    with pytest.raises(UsageError, match=r"shares of mail, series and language files add up to 1\.1"):
        read_profile(mine.replace("mail = 0.4", "mail = 0.4\nzip = 0.4"), "mine.toml")


def test_a_profile_that_is_based_on_another() -> None:
    mine = 'based_on = "reference"\nname = "mine"\nversion = 2\n[faults]\ndeep_nesting = 0.0\n[[custodians]]\nmail = "files"\n'
    reference, profile = load_profile("reference"), read_profile(mine, "mine.toml")
    assert (profile.name, profile.version, len(profile.custodians)) == ("mine", 2, 1)
    assert profile.faults == reference.faults | {"deep_nesting": 0.0}
    assert profile.formats == reference.formats
    assert profile.digest != reference.digest
    with pytest.raises(UsageError, match=r"mine\.toml: based_on must be one of .*, not 'nothing'"):
        read_profile(mine.replace("reference", "nothing"), "mine.toml")


def test_the_corpus_of_r1_has_no_deep_archive() -> None:
    """One would be a tenth of a run at 1/500; everything else is the reference profile's."""
    shown, reference = (outline(load_profile(name), 0.002) for name in ("r1", "reference"))
    assert "deep_nesting" in reference["faults"]
    assert set(shown["faults"]) == set(reference["faults"]) - {"deep_nesting"}


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SMALL)
    assert load_profile(str(file)).version == 3
    with pytest.raises(UsageError, match=r"other\.toml does not exist"):
        load_profile(str(tmp_path / "other.toml"))
    with pytest.raises(UsageError, match=r"no corpus profile 'no such'.*reference"):
        load_profile("no such")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("raw_bytes = 5_000_000", "", "raw_bytes is missing"),
        ("raw_bytes = 5_000_000", "raw_bytes = 5.5e6", "raw_bytes must be a whole number"),
        ("mail = 0.4", "mail = 1.4", "shares.mail is 1.4; it must be between 0 and 1"),
        ("mail = 0.4", 'mail = "much"', "shares.mail must be a number"),
        ('mail = "files"', 'mail = "fles"', "custodians.0..mail is 'fles'.*files"),
        ("median = 4000", "medain = 4000", "formats.txt.median is missing"),
        ("median = 4000", "median = 4000, sgima = 1", "formats.txt.sgima is not known; did you mean 'sigma'"),
        ("txt = {", "tex = {", "formats.tex is not known; did you mean"),
        ("attached = 1, ", "", "no format with a weight for 'attached'"),
        ("loose = 1, ", "", "no loose format"),
        ("[shares]", "[types]\n'text/plain' = 0.5\n[shares]", "targets.items_per_gb"),
        ("[shares]", "[faults]\nbroken_zip = 0.1\n[shares]", "faults.broken_zip is not known"),
        ("[shares]", "[mail]\nthread_lengths = [[1, 2]]\n[shares]", "mail.thread_lengths holds"),
        ("[shares]", "[mail]\nthread_lengths = [[1, 2, nan]]\n[shares]", "mail.thread_lengths holds"),
        ("[shares]", "[mail]\nattachment_counts = [1, nan]\n[shares]", "mail.attachment_counts must hold weights"),
        ("[shares]", "[mail]\ncopies = [inf]\n[shares]", "mail.copies must hold weights"),
        ("mail = 0.4", "mail = nan", "shares.mail is nan"),
        ("[shares]", "[[series]]\nkind = 'zeros'\nshare = 0.7\nfile_bytes = 5000\n[shares]", "add up to 1.1"),
        ("[[custodians]]", "[[custodian]]", "custodian is not known; did you mean 'custodians'"),
        ("[shares]", "[shares", "must be TOML"),
    ],
)
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(UsageError, match=message) as caught:
        read_profile(SMALL.replace(old, new), "mine.toml")
    assert str(caught.value).startswith("mine.toml")
