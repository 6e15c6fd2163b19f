"""Recognise files of other types that have a known extension or similar first bytes."""

from __future__ import annotations


def is_apple_double(head: bytes) -> bool:
    return head[:4] in (b"\x00\x05\x16\x07", b"\x00\x05\x16\x00")


def describe_foreign_file(head: bytes, size: int) -> str | None:
    """Describe a file that no format matches, in a few words; None if its type is unknown."""
    if is_apple_double(head):
        return "an AppleDouble file: resource data that a Mac left next to the real file (the same name without ._)"
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return "a Git LFS pointer: the real file was never downloaded (git lfs pull fetches it)"
    if head[:4] in (b"MM\x00*", b"MM\x00+", b"II*\x00", b"II+\x00"):
        return "a TIFF image"
    for magic, description in _MAGICS:
        if head.startswith(magic):
            return description
    if _is_text(head):
        if head.lstrip()[:1] == b"{" and b'"asset"' in head:
            return "a glTF file, which has no document: it can be loaded, but not kept byte for byte"
        return "a text file"
    return None


_MAGICS = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"glTF", "a binary glTF file, which has no document: it can be loaded, but not kept byte for byte"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an OLE container, as 3ds Max writes .max files"),
    (b"Kaydara FBX", "an FBX file"),
    (b"BLENDER", "a Blender file"),
)


def _is_text(head: bytes) -> bool:
    """Return whether the head is text: no control characters and mostly ASCII (a run of FF bytes is not text)."""
    sample = head[:512]
    plain = sum(0x20 <= byte < 0x7F or byte in b"\t\r\n\f" for byte in sample)
    return plain > len(sample) / 2 and all(byte >= 0x20 or byte in b"\t\r\n\f" for byte in sample)
