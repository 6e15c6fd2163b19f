"""Rules on names: which names get which issue."""

from __future__ import annotations

import pytest

import keyframer
from tests.building import files as w


def codes(data: bytes, *families: str) -> set[str]:
    return {code for code in keyframer.check(data).counts if code.startswith(families)}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (b"Box01", set()),
        (b"Box 01", set()),
        (b"my-box_1.a", set()),
        (b"-left", set()),
        (b"+right", set()),
        (b"@home", set()),
        (b"a < b", set()),
        (b"R&D", set()),
        ("Gl\u00e4ser".encode(), set()),
        (b"", {"SEM_NAME_EMPTY"}),
        (b"0123456789A", {"SEM_NAME_TOO_LONG"}),
        (b"Gl\x84ser", {"SEM_NAME_ENCODING"}),
        (b"a\x1b[2J", {"SEC_NAME_CONTROL_CHARS"}),
        (b"a\nb", {"SEC_NAME_CONTROL_CHARS"}),
        (b"a\x7f", {"SEC_NAME_CONTROL_CHARS"}),
        ("a\u0085b".encode(), {"SEC_NAME_CONTROL_CHARS"}),
        ("a\u2028b".encode(), {"SEC_NAME_CONTROL_CHARS"}),
        ("\u202eabc".encode(), {"SEC_NAME_BIDI"}),
        ("a\u2066b".encode(), {"SEC_NAME_BIDI"}),
        (b"<b>", {"SEC_NAME_MARKUP"}),
        (b"</a>", {"SEC_NAME_MARKUP"}),
        (b"<!--", {"SEC_NAME_MARKUP"}),
        (b"&#60;", {"SEC_NAME_MARKUP"}),
        (b"=1+1", {"SEC_NAME_FORMULA"}),
        (b"@SUM(A1)", {"SEC_NAME_FORMULA"}),
        (b"-2+cmd|'x'", {"SEC_NAME_FORMULA"}),
    ],
)
def test_names(name: bytes, wanted: set[str]) -> None:
    assert codes(w.editor(w.mesh(name=name)), "SEC_", "SEM_") == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (b"STONE.TGA", set()),
        (b"maps\\s.tga", set()),
        (b"maps/s.tga", set()),
        (b"a..b.tga", set()),
        (b"...tga", set()),
        (b"CONCRETE.TGA", set()),
        (b"", set()),
        (b"..\\x.tga", {"SEC_PATH_TRAVERSAL"}),
        (b"a/../../x", {"SEC_PATH_TRAVERSAL"}),
        (b"..", {"SEC_PATH_TRAVERSAL"}),
        (b"/etc/x", {"SEC_PATH_ABSOLUTE"}),
        (b"\\x.tga", {"SEC_PATH_ABSOLUTE"}),
        (b"C:\\x.tga", {"SEC_PATH_ABSOLUTE"}),
        (b"c:/x.tga", {"SEC_PATH_ABSOLUTE"}),
        (b"\\\\h\\x.tga", {"SEC_PATH_UNC"}),
        (b"//h/x.tga", {"SEC_PATH_UNC"}),
        (b"http://h/x", {"SEC_PATH_URL"}),
        (b"file:///x", {"SEC_PATH_URL"}),
        (b"data:,x", {"SEC_PATH_URL"}),
        (b"NUL", {"SEC_PATH_RESERVED"}),
        (b"con.tga", {"SEC_PATH_RESERVED"}),
        (b"maps\\com1.x", {"SEC_PATH_RESERVED"}),
        (b"a.png::$DATA", {"SEC_PATH_RESERVED"}),
        (b"a.tga:b", {"SEC_PATH_RESERVED"}),
        (b"C:\\..\\NUL", {"SEC_PATH_ABSOLUTE", "SEC_PATH_TRAVERSAL", "SEC_PATH_RESERVED"}),
    ],
)
def test_file_names(name: bytes, wanted: set[str]) -> None:
    assert codes(w.editor(w.material(b"red", w.texture(name))), "SEC_") == wanted


def test_names_in_messages_are_escaped_and_shortened() -> None:
    report = keyframer.check(w.editor(w.mesh(name=b"\x1b[31m" + b"x" * 5_000)))
    for issue in report.issues:
        assert "\x1b" not in str(issue)
        assert len(issue.message) < 200
    assert "'\\x1b[31mxxx" in next(i.message for i in report.issues if i.code == "SEC_NAME_CONTROL_CHARS")


def test_name_of_many_objects_is_reported_once() -> None:
    report = keyframer.check(w.editor(w.mesh(name=b"Box") * 500, w.mesh(name=b"Cone") * 2))
    assert report.counts == {"SEM_DUPLICATE_NAME": 2}
    assert report.issues[0].message == "500 objects have the name 'Box'"
    assert report.issues[0].path == "/4d4d/3d3d/4000[1]/name"
