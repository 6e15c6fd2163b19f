"""The files that a glTF file names: buffers and images of their own."""

from __future__ import annotations

import re
from urllib.parse import unquote

from keyframer.textures.file_names import take_apart

_URI = re.compile(rb'"uri"\s{0,100}:\s{0,100}"(?!data:)([^"\\]{1,1000})"')
_HEAD = 20
"""bytes of a .glb before its text"""


def named_files(data: bytes) -> list[str]:
    """Paths below the folder of the file; those that lead elsewhere are left out, as they are when it is read."""
    text = data[_HEAD : _HEAD + int.from_bytes(data[12:16], "little")] if data[:4] == b"glTF" else data
    names = dict.fromkeys(unquote(found.decode("utf-8", "replace")) for found in _URI.findall(text))
    apart = [take_apart(name) for name in names]
    return ["/".join(name.parts) for name in apart if name.parts and name.refusal is None]
