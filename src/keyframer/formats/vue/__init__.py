"""VUE: the frames that 3D Studio and 3ds Max computed, as text (``.vue``, 1990 to today).

A file has for each frame the matrix of each object, the lights, and the view. Written by 3D Studio for DOS, to render
from the command line, and by the VUE File Renderer of 3ds Max. The manuals of both describe it. Unknown: the order of
the numbers of ``user`` views in files of DOS.
"""

from __future__ import annotations

import re

from keyframer.formats.contract import Format, Match

_START = re.compile(rb"\s*frame[ \t]+[-+]?\d+[ \t]*\r?\n\s*(transform|morph|light|spotlight|camera|user|top|bottom)\b")


class Vue(Format):
    name = "vue"
    title = "VUE frames of 3D Studio"
    extensions = (".vue",)
    bookkeeping = ("view",)

    def sniff(self, head: bytes, size: int) -> Match | None:
        found = _START.match(head)
        return None if found is None else Match(0.95, f"begins with frame, then {found[1].decode('ascii')}")


FORMAT = Vue()
