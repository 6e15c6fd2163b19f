"""ASE: ``.ase`` scenes, the ASCII export of 3ds Max (1996 to about 2010).

Text: lines of ``*KEYWORD values``, nested in braces. The SDK of 3ds Max included the source of the exporter, so many
programs and games have their own exporters, with more keywords. Sampled tracks have the values that 3ds Max computed.
Unknown: the interpolation of Bezier rotation keys, and how exporters store skins, except for the two layouts that are
read.
"""

from __future__ import annotations

from keyframer.formats.contract import Format, ImageNames, Match, Signature

SLOTS = {
    b"MAP_DIFFUSE": "texture1",
    b"MAP_OPACITY": "opacity",
    b"MAP_BUMP": "bump",
    b"MAP_SPECULAR": "specular",
    b"MAP_SHINE": "shininess",
    b"MAP_SELFILLUM": "self_illumination",
    b"MAP_REFLECT": "reflection",
}
"""the slot of each map, by the keyword of its block"""

BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_SIGNATURE = b"*3DSMAX_ASCIIEXPORT"
_OTHER_FIRST_KEYWORDS = (b"*COMMENT", b"*SCENE", b"*MATERIAL_LIST", b"*GEOMOBJECT", b"*HELPEROBJECT", b"*GROUP")


def find_encoding(head: bytes) -> tuple[str, int]:
    """Return the encoding of a text and the size of its byte order mark.

    The text must begin with an ASCII character. All 8-bit text counts as "utf-8".
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    if len(head) > 1 and (head[0] == 0) != (head[1] == 0):
        return ("utf-16-be" if head[0] == 0 else "utf-16-le"), 0
    return "utf-8", 0


class Ase(Format):
    name = "ase"
    title = "3ds Max ASCII scene"
    extensions = (".ase",)
    signatures = (
        Signature(
            title,
            ((0, tuple(_SIGNATURE.decode().encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))),),
            slack=32,  # a byte order mark, and white space
        ),
    )
    tables = ("objects",)
    image_names = ImageNames(200, slots=tuple(SLOTS.values()))
    smooth_without_groups = False

    def longest_end(self, data: bytes, start: int) -> int:
        wide = find_encoding(data[start : start + 4])[0] != "utf-8"
        end = data.find(b"\0\0" if wide else b"\0", start)
        while wide and end >= 0 and (end - start) % 2:
            end = data.find(b"\0\0", end + 1)
        return end if end >= 0 else super().longest_end(data, start)

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Return a match: nearly certain for the first keyword of 3ds Max, uncertain for some others, else None."""
        encoding, mark_size = find_encoding(head)
        text = head[mark_size:]
        if encoding != "utf-8":
            text = text[1 - (encoding == "utf-16-le") :: 2]  # the low bytes
        text = text.lstrip(b"\t\n\v\f\r ")
        if text.startswith(_SIGNATURE):
            words = text[len(_SIGNATURE) :].split(None, 1)
            version = words[0].decode("ascii", "replace") if words and words[0].isdigit() else None
            return Match(0.95, "begins with *3DSMAX_ASCIIEXPORT", version, None if encoding == "utf-8" else encoding)
        for keyword in _OTHER_FIRST_KEYWORDS:
            if text.startswith(keyword) and text[len(keyword) : len(keyword) + 1] in (b" ", b"\t", b"\r", b"\n", b"{"):
                return Match(0.5, f"begins with {keyword.decode()}", None, None if encoding == "utf-8" else encoding)
        return None


FORMAT = Ase()
