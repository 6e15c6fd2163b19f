"""File names from files: which are split into parts of a relative path, and which are refused with which code."""

from __future__ import annotations

import pytest

from keyframer.textures.file_names import split_name


@pytest.mark.parametrize(
    ("text", "parts", "code"),
    [
        ("PANELS.JPG", ("PANELS.JPG",), None),
        ("maps/wood.tga", ("maps", "wood.tga"), None),
        ("MAPS\\WOOD.TGA", ("MAPS", "WOOD.TGA"), None),
        ("./wood.tga", ("wood.tga",), None),
        ("", (), None),
        ("..\\secret.png", ("secret.png",), "SEC_PATH_TRAVERSAL"),
        ("a/../../b.png", ("b.png",), "SEC_PATH_TRAVERSAL"),
        ("a/..", (), "SEC_PATH_TRAVERSAL"),
        ("/etc/passwd", ("passwd",), "SEC_PATH_ABSOLUTE"),
        ("~/x.png", ("x.png",), "SEC_PATH_ABSOLUTE"),
        ("C:\\3DS4\\MAPS\\WOOD.TGA", ("WOOD.TGA",), "SEC_PATH_ABSOLUTE"),
        ("C:WOOD.TGA", ("WOOD.TGA",), "SEC_PATH_ABSOLUTE"),
        ("\\\\server\\share\\x.tga", ("x.tga",), "SEC_PATH_UNC"),
        ("//server/share/x.tga", ("x.tga",), "SEC_PATH_UNC"),
        ("\\\\?\\C:\\x.tga", ("x.tga",), "SEC_PATH_UNC"),
        ("http://evil/x.png", (), "SEC_PATH_URL"),
        ("file:x.png", (), "SEC_PATH_URL"),
        ("data:image/png;base64,AAAA", (), "SEC_PATH_URL"),
        ("HTTPS:\\\\evil\\x.png", (), "SEC_PATH_URL"),
        ("CON", (), "SEC_PATH_RESERVED"),
        ("nul.tga", (), "SEC_PATH_RESERVED"),
        ("maps/com1.png", (), "SEC_PATH_RESERVED"),
        ("aux .png", (), "SEC_PATH_RESERVED"),
        ("wood.tga:stream", (), "SEC_PATH_RESERVED"),
        ("wood.tga.", (), "SEC_PATH_RESERVED"),
        ("wood\0.tga", (), "SEC_PATH_RESERVED"),
        ("wood\x1b[31m.tga", (), "SEC_PATH_RESERVED"),
        ("A" * 300 + ".tga", (), "SEC_PATH_RESERVED"),
        ("a/" * 40 + "b.tga", (), "SEC_PATH_RESERVED"),
    ],
)
def test_names(text: str, parts: tuple[str, ...], code: str | None) -> None:
    name = split_name(text)
    assert name.parts == parts
    assert (name.refusal.code if name.refusal else None) == code
