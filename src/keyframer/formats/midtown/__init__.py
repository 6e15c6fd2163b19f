"""Midtown Madness 2: pedestrian ``.anim`` clips, and the ``.skel`` text that names their bones.

Angel Studios, 2000. Frames of floats behind a short header, without a signature and in three layouts: the retail
game's, the one of the public document (a beta) and an older one. Open: channels other than type 1, of which no file is
known, and the compressed variant of Smuggler's Run 2.
"""

from __future__ import annotations

from keyframer.formats._format import Format
from keyframer.formats.midtown.sniff import sniff

FORMAT = Format(
    name="midtown",
    title="Midtown Madness 2",
    extensions=(".anim",),
    sniff=sniff,
    package=__name__,
)
