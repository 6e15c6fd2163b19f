"""Files of each format with one edit: the bytes equal those of a file that was built with the edit, or the report gives
the reason for a new file.

The tables are next to what builds the files, in the folder of each format.
"""

from __future__ import annotations

import pytest

from tests.building.editing import Merge, NewFile, load, merged, rewrite_reasons, save_edited
from tests.formats.hale3d import test_patching as hale3d
from tests.formats.midtown import test_patching as midtown
from tests.formats.nodeanim import test_patching as nodeanim
from tests.formats.test_edited_fields import read_again
from tests.formats.threeds import test_patching as threeds
from tests.formats.threeds import test_patching_odd as odd_threeds
from tests.formats.uto3d import test_patching as uto3d

MERGED: dict[tuple[str, str], Merge] = {
    (format, name): case
    for format, cases in (
        ("3ds", threeds.MERGED),
        ("3ds", odd_threeds.MERGED),
        ("uto3d", uto3d.MERGED),
        ("nodeanim", nodeanim.MERGED),
        ("hale3d", hale3d.MERGED),
    )
    for name, case in cases.items()
}
NEW_FILES: dict[tuple[str, str], NewFile] = {
    (format, name): case
    for format, cases in (
        ("3ds", threeds.NEW_FILES),
        ("3ds", odd_threeds.NEW_FILES),
        ("uto3d", uto3d.NEW_FILES),
        ("hale3d", hale3d.NEW_FILES),
        ("midtown", midtown.NEW_FILES),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize(("format", "name"), MERGED)
def test_an_edit_changes_only_its_bytes(format: str, name: str) -> None:
    data, edit, wanted, reading = MERGED[format, name]
    written = save_edited(format, data, edit, **reading)
    files = merged(written), *(companion for _, companion in written.companions)
    assert (files if isinstance(wanted, tuple) else files[0]) == wanted


@pytest.mark.parametrize(("format", "name"), NEW_FILES)
def test_an_edit_that_cannot_be_merged_causes_a_new_file(format: str, name: str) -> None:
    data, edit, words, reading = NEW_FILES[format, name]
    written = save_edited(format, data, edit, **reading)
    (why,) = rewrite_reasons(written)
    assert words in why
    assert len(read_again(written)[1].nodes) >= len(load(format, data, **reading).nodes), "there is a file all the same"
