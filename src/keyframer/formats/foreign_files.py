"""Names files that no format matches by their first bytes.

`STRANGERS` has well-known formats that Keyframer does not read: for models and scenes, or with an extension of its own.
A registered format that recognises a file always wins; when a format is added, its entry leaves the table.
"""

from __future__ import annotations

from keyframer.formats.contract import Signature

NOT_READ = "not a format Keyframer reads"


def _begins(title: str, *beginnings: bytes, then: tuple[int, tuple[bytes, ...]] | None = None) -> Signature:
    return Signature(title, ((0, beginnings), *([] if then is None else [then])))


STRANGERS = (
    _begins("Quake model (MDL)", b"IDPO"),
    _begins("Quake II model (MD2)", b"IDP2"),
    _begins("Quake III model (MD3)", b"IDP3"),
    _begins("Half-Life model (MDL)", b"IDST"),
    _begins("Half-Life sequences (MDL)", b"IDSQ"),
    _begins("3D GameStudio model (MDL)", *(b"MDL%d" % version for version in range(2, 8))),
    _begins("MilkShape 3D model (MS3D)", b"MS3D000000"),
    _begins("MilkShape 3D text", b"// MilkShape 3D ASCII"),
    _begins("LightWave object (LWO)", b"FORM", then=(8, (b"LWOB", b"LWLO", b"LWO2", b"LWO3"))),
    _begins("LightWave scene (LWS)", b"LWSC"),
    _begins("DirectX model (X)", b"xof 03"),
    _begins("trueSpace file (COB)", b"Caligari "),
    _begins("Maya scene (MA)", b"//Maya ASCII"),
    _begins("Maya scene (MB)", b"FOR4", then=(8, (b"Maya",))),
    _begins("Maya scene (MB)", b"FOR8", then=(16, (b"Maya",))),
    _begins("Maya animation curves (ANIM)", b"animVersion "),
    _begins(
        "Unity asset, such as an animation (ANIM)",
        *(b"%YAML 1.1" + end + b"%TAG !u! tag:unity3d.com," for end in (b"\n", b"\r\n")),
    ),
    _begins("ESRI shapefile (SHP)", b"\0\0\x27\x0a" + bytes(20)),
    Signature("music module (MOD)", ((1080, (b"M.K.", b"M!K!", b"FLT4", b"FLT8", b"4CHN", b"6CHN", b"8CHN")),)),
    _begins("FBX scene", b"Kaydara FBX Binary", b"; FBX "),
    _begins("Blender file (BLEND)", b"BLENDER"),
    _begins("OLE container, such as a scene of 3ds Max (MAX)", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
)
_COLLADA = "Collada scene (DAE)"


def stranger(head: bytes) -> str | None:
    """Return the name of a well-known format that Keyframer does not read; None if the head shows none."""
    for signature in STRANGERS:
        if signature.matches(head, 0):
            return signature.title
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return _COLLADA if text.startswith(b"<") and b"<COLLADA" in text else None


def is_apple_double(head: bytes) -> bool:
    return head.startswith(b"\x00\x05\x16\x07")


def describe_foreign_file(head: bytes) -> str | None:
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
    if is_text(head):
        if head.lstrip()[:1] == b"{" and b'"asset"' in head:
            return "a glTF file, which has no document: it can be loaded, but not kept byte for byte"
        return "a text file"
    return None


_MAGICS = (
    (b"\x00\x05\x16\x00", "an AppleSingle file: a file of a Mac, packed together with its resource data"),
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
)


def is_text(head: bytes) -> bool:
    """Return whether the first 512 bytes are text: mostly ASCII, and no control characters except white space."""
    sample = head[:512]
    plain = sum(0x20 <= byte < 0x7F or byte in b"\t\r\n\f" for byte in sample)
    return plain > len(sample) / 2 and all(byte >= 0x20 or byte in b"\t\r\n\f" for byte in sample)
