"""The bridge between the files of Midtown Madness 2 and scenes: `scene` reads, with `body`; `writing` writes and merges
edits of clips and skeletons. Models are only read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.catalogue import SEM_EMPTY_TRACK, SEM_MANY_CHANNELS
from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import check_angles, check_fields, check_numbers
from keyframer.formats.kit.scene_reading import Reporter, companion_paths
from keyframer.formats.midtown import FORMAT
from keyframer.formats.midtown.bridge.scene import Options, own_text, posed_channel, to_scene
from keyframer.formats.midtown.document import decode
from keyframer.formats.midtown.records import Channel as FrameChannel
from keyframer.formats.midtown.records import Clip, ModelText, OldChannel, SkeletonText
from keyframer.formats.midtown.skeleton import read_skeleton
from keyframer.formats.midtown.sniff import MODEL
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

_MOST_CHANNELS = 1_000
_NUMBERS = ("rows", "distance")
"""fields of a channel that contain floats"""


class MidtownBridge(Bridge[Options]):
    options = Options
    internal_options = ("found", "model_found", "skeleton_error")
    read = staticmethod(to_scene)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        channels = [record for record in document.find(Record) if isinstance(record, (FrameChannel, OldChannel))]
        for channel in channels:
            if len(channel.rows) == 0:
                reporter.report(SEM_EMPTY_TRACK, channel, what="a channel without frames")
            elif channel.bones is not None:
                check_angles(reporter, channel, "rows", channel.rows[:, 3:])
        clip = document.first(Clip)
        if clip is not None and clip.channels > _MOST_CHANNELS:
            reporter.report(SEM_MANY_CHANNELS, clip, "channels", count=clip.channels, most=_MOST_CHANNELS)
        check_numbers(reporter, document, {(cls, field) for cls in (FrameChannel, OldChannel) for field in _NUMBERS})
        posed = None if scene is None else posed_channel(channels)
        for channel in channels:
            if channel is not posed:  # the bridge checks the channel that it poses
                check_fields(reporter, channel, _NUMBERS)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Return options: the skeleton and the model beside a file, or why the skeleton cannot be read."""
        text = own_text(document)
        found: dict[str, object] = {} if isinstance(text, ModelText) else self._model_beside(path)
        return found if isinstance(text, SkeletonText) else found | self._skeleton_beside(path)

    @staticmethod
    def _model_beside(path: Path) -> dict[str, object]:
        for candidate in companion_paths(path, ".mod", FORMAT.companion_stems):
            try:
                data = read_bytes(candidate)
                if MODEL.match(data):  # a damaged one is reported; other files have the extension, too
                    return {"model": decode(data), "model_found": candidate.name}
            except (OSError, FormatError):
                continue
        return {}

    @staticmethod
    def _skeleton_beside(path: Path) -> dict[str, object]:
        skeleton_error = ""
        for candidate in companion_paths(path, ".skel", FORMAT.companion_stems):
            try:
                return {"skeleton": read_skeleton(read_bytes(candidate)), "found": candidate.name}
            except OSError as error:
                skeleton_error = skeleton_error or error.strerror or str(error)
            except FormatError as error:
                skeleton_error = skeleton_error or f"{error.code} at {error.offset:#x}: {error.message}"
        return {"skeleton": None, "skeleton_error": skeleton_error} if skeleton_error else {}

    def key_location(self, record: Record, channel: Channel) -> KeyLocation:
        """Return the columns of a channel; a frame has the position of the root, then three angles for each bone."""
        first = 0 if channel.track.kind == "position" else 3 + 3 * channel.node
        return KeyLocation("rows", columns=(4 * first, 12))

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.midtown.bridge.writing import Merger, Writer

        return Writer(Merger())


BRIDGE = MidtownBridge()
