"""Names of outputs: different files get different names, on every file system."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.batch.output_names import LONGEST_NAME, OutputRequest, Renamed, assign, key_of, safe_relative


def names(*relatives: str, suffix: str = ".glb", replace: bool = True, **options: object) -> list[str]:
    return assigned(*relatives, suffix=suffix, replace=replace, **options)[0]


def assigned(
    *relatives: str, suffix: str = ".glb", replace: bool = True, **options: object
) -> tuple[list[str], list[Renamed]]:
    files = [OutputRequest(f"/in/{number}/{relative}", relative) for number, relative in enumerate(relatives)]
    return assign(files, suffix, replace=replace, **options)  # type: ignore[arg-type]


def test_suffix_replaces_the_extension() -> None:
    assert names("a.3ds", "b/a.3ds", "b/c.anim") == ["a.glb", "b/a.glb", "b/c.glb"]
    assert names("a.3ds", "a.anim", suffix=".check.json", replace=False) == ["a.3ds.check.json", "a.anim.check.json"]


def test_files_that_differ_in_extension_keep_it() -> None:
    given_names, renamed = assigned("a.3ds", "a.anim", "b.3ds")
    assert given_names == ["a.3ds.glb", "a.anim.glb", "b.glb"]
    assert [rename.given for rename in renamed] == ["a.3ds.glb", "a.anim.glb"]
    assert "2 files have this output name" in renamed[0].reason


def test_names_that_differ_in_case_or_unicode_form() -> None:
    composed, apart = unicodedata.normalize("NFC", "é.3ds"), unicodedata.normalize("NFD", "é.3ds")
    for twins in (("A.3ds", "a.3ds"), (composed, apart), ("x/a.3ds", "X/a.3ds"), ("straße.3ds", "STRASSE.3ds")):
        assigned_names = names(*twins)
        assert len({key_of(name) for name in assigned_names}) == 2
        assert all("~" in name for name in assigned_names)


def test_generated_name_does_not_collide_with_another_input() -> None:
    assigned_names = names("a.3ds", "a.anim", "a.3ds.3ds")
    assert len({key_of(name) for name in assigned_names}) == 3
    assert assigned_names[2] == "a.3ds.glb"


def test_name_of_a_folder_is_not_given_to_a_file() -> None:
    assigned_names = names("a.3ds", "a.glb/b.3ds")
    assert assigned_names == ["a.3ds.glb", "a.glb/b.glb"]


def test_reserved_names_are_changed() -> None:
    assert names("ledger.3ds", reserved=["ledger.glb"]) == ["ledger.3ds.glb"]


def test_long_names_are_shortened() -> None:
    long = "ü" * 125 + ".3ds"  # 254 bytes
    (assigned_name,), (renamed,) = assigned(f"{'f' * 300}/{long}", suffix=".identify.json", replace=False)
    assert all(len(os.fsencode(part)) <= LONGEST_NAME for part in assigned_name.split("/"))
    assert assigned_name.endswith(".identify.json")
    assert "too long" in renamed.reason
    twins = names("x" * 251 + ".3ds", "x" * 251 + ".u3d")
    assert len({key_of(name) for name in twins}) == 2
    assert all(len(os.fsencode(name)) <= LONGEST_NAME for name in twins)


def test_names_of_earlier_runs_are_kept() -> None:
    before = {"/in/0/a.3ds": "a.glb"}
    owners = {"a.glb": "/in/0/a.3ds"}
    assigned_names = names("a.3ds", "a.anim", earlier_output=before.get, owner=owners.get)
    assert assigned_names == ["a.glb", "a.anim.glb"]
    assert names("b.anim", owner={"b.glb": "/elsewhere/b.3ds"}.get) == ["b.anim.glb"]


@pytest.mark.parametrize(
    "name", ["../../etc/x.3ds", "/etc/x.3ds", "a/../../x.3ds", "..\\..\\x.3ds", "\0.3ds", "..", ""]
)
def test_names_from_archives_stay_inside_the_output_folder(name: str) -> None:
    relative = safe_relative(name)
    assert relative
    assert not relative.startswith("/")
    assert ".." not in relative.split("/")
    assert "\0" not in relative


letters = st.sampled_from(["a", "A", "é", "e\u0301", "ß", "ss", ".3ds", ".glb", "/", "b", "\udcff"])


@given(st.lists(st.lists(letters, min_size=1, max_size=5).map("".join).map(safe_relative), unique=True, max_size=12))
def test_names_are_distinct_and_never_the_name_of_a_folder(relatives: list[str]) -> None:
    for replace in (True, False):
        files = [OutputRequest(f"/in/{relative}", relative) for relative in relatives]
        assigned_names, _ = assign(files, ".glb", replace=replace)
        keys = [key_of(name) for name in assigned_names]
        assert len(set(keys)) == len(keys)
        assert not any(other.startswith(f"{key}/") for key in keys for other in keys)
        backwards, _ = assign(files[::-1], ".glb", replace=replace)
        assert backwards[::-1] == assigned_names
