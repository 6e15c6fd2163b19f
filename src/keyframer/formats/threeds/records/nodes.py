"""The keyframer chunk: its header, nodes and tracks."""

from __future__ import annotations

from keyframer.formats.threeds.chunk import Chunk, chunk, declare_opaque
from keyframer.wire.field_types import f32, i16, i32, strz, u16, vector
from keyframer.wire.key_table import KeyLayout, Keys, keys
from keyframer.wire.record import record

NODE_IDS = (0xB001, 0xB002, 0xB003, 0xB004, 0xB005, 0xB006, 0xB007)


@chunk(0xB000, parents=(0x4D4D, 0xC23D))
class Keyframer(Chunk):
    """Keyframer (KFDATA): the motion of objects, lights and cameras."""


@chunk(0xB00A, parents=(0xB000,))
class KeyframerHeader(Chunk):
    """Keyframer header (KFHDR)."""

    revision: int = i16("revision of the keyframer", default=5)
    name: bytes = strz("name of the scene or of the writing program, up to 12 characters")
    length: int = i32("length of the animation in frames")


@chunk(0xB008, parents=(0xB000,))
class Frames(Chunk):
    """Frames (Start and End) (KFSEG): the active segment."""

    start: int = i32("first frame of the active segment")
    end: int = i32("last frame of the active segment")


@chunk(0xB009, parents=(0xB000,))
class CurrentTime(Chunk):
    """Current frame (KFCURTIME)."""

    # 66 of 68 non-zero values in files of 3ds Max are multiples of 160: ticks, at 30 frames per second.
    time: int = i32("frame; in files of 3ds Max ticks, 4800 per second")


@record
class Node(Chunk):
    """Information block: an object, light, camera or target in the hierarchy, with its tracks."""


@chunk(0xB001, parents=(0xB000,), repeats=True)
class AmbientNode(Node):
    """Ambient light information block."""


@chunk(0xB002, parents=(0xB000,), repeats=True)
class ObjectNode(Node):
    """Mesh information block."""


@chunk(0xB003, parents=(0xB000,), repeats=True)
class CameraNode(Node):
    """Camera information block."""


@chunk(0xB004, parents=(0xB000,), repeats=True)
class CameraTargetNode(Node):
    """Camera target information block."""


@chunk(0xB005, parents=(0xB000,), repeats=True)
class OmniNode(Node):
    """Omni light information block."""


@chunk(0xB006, parents=(0xB000,), repeats=True)
class SpotTargetNode(Node):
    """Spot light target information block."""


@chunk(0xB007, parents=(0xB000,), repeats=True)
class SpotNode(Node):
    """Spot light information block."""


@chunk(0xB010, parents=NODE_IDS, once=True)
class NodeHeader(Chunk):
    """Object name, parameters and hierarchy father (NODE_HDR)."""

    # Nearly every real file has 0x4000 in flags1; the specification names only bit 11.
    name: bytes = strz("object name")
    flags1: int = u16("bit 2: hidden when rendering, 3: off, 9: marked, 11: hidden, 12: fast, 14: primary, 15: path")
    flags2: int = u16(
        "bit 0: show path, 1: animate smoothing, 2: frozen, 3: animated hide, 4: motion blur, 5: blur branch, "
        "6: morph materials, 7: morph object"
    )
    parent: int = i16("hierarchy father: the node id of the parent, -1 for none", default=-1)


@chunk(0xB011, parents=NODE_IDS)
class InstanceName(Chunk):
    """Instance name (INSTANCE_NAME): the name of a dummy, or of an instance of a mesh."""

    name: bytes = strz("name")


PreScale = declare_opaque(0xB012, "PreScale", "Prescale (PRESCALE), not used.", NODE_IDS)


@chunk(0xB013, parents=NODE_IDS)
class Pivot(Chunk):
    """Object pivot point (PIVOT)."""

    pivot: tuple[float, ...] = vector("pivot point; not inherited by children")


@chunk(0xB014, parents=NODE_IDS)
class BoundBox(Chunk):
    """Bounding box (BOUNDBOX), the size of a dummy."""

    minimum: tuple[float, ...] = vector("lower corner")
    maximum: tuple[float, ...] = vector("upper corner")


@chunk(0xB015, parents=NODE_IDS)
class MorphSmooth(Chunk):
    """Object morph angle (MORPH_SMOOTH)."""

    angle: float = f32("smoothing angle; degrees in Autodesk's toolkit, Blender writes radians")


@record
class Track(Chunk):
    """Common head of all tracks."""

    # The specification calls the two times "8 byte unknown". Only 3ds Max fills them: 0 and the last key or the length.
    flags: int = u16(
        "bits 0-1: 0 single, 2 repeat, 3 loop; bits 3-5: lock X, Y, Z; 6: at key (editor); 7-9: unlink X, Y, Z; "
        "10-11: the axis edited last (editor)"
    )
    time_min: int = i32("first time, 0 in most files")
    time_max: int = i32("last time, 0 in most files")


_KEYS = (
    "keys: frame, acceleration flags (bit 0: tension, 1: continuity, 2: bias, 3: ease to, 4: ease from), "
    "a float for each bit set, "
)


@chunk(0xB020, parents=NODE_IDS, once=True)
class PositionTrack(Track):
    """Position track (POS_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(3), _KEYS + "position")


@chunk(0xB021, parents=NODE_IDS, once=True)
class RotationTrack(Track):
    """Rotation track (ROT_TRACK_TAG)."""

    keys: Keys = keys(
        KeyLayout(4),
        _KEYS + "angle in radians (clockwise, any number of turns) and axis; relative to the previous key",
    )


@chunk(0xB022, parents=NODE_IDS, once=True)
class ScaleTrack(Track):
    """Scale track (SCL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(3), _KEYS + "scale factors")


@chunk(0xB023, parents=NODE_IDS, once=True)
class FovTrack(Track):
    """FOV track (FOV_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "horizontal field of view in degrees")


@chunk(0xB024, parents=NODE_IDS, once=True)
class RollTrack(Track):
    """Roll track (ROLL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "roll in degrees")


@chunk(0xB025, parents=NODE_IDS, once=True)
class ColorTrack(Track):
    """Color track (COL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(3), _KEYS + "red, green, blue, 0.0 to 1.0")


@chunk(0xB026, parents=NODE_IDS, once=True)
class MorphTrack(Track):
    """Morph track (MORPH_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(None), _KEYS + "name of the object to morph into")


@chunk(0xB027, parents=NODE_IDS, once=True)
class HotspotTrack(Track):
    """Hotspot track (HOT_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "full angle of the bright cone in degrees")


@chunk(0xB028, parents=NODE_IDS, once=True)
class FalloffTrack(Track):
    """Falloff track (FALL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "full angle of the outer cone in degrees")


@chunk(0xB029, parents=NODE_IDS, once=True)
class HideTrack(Track):
    """Hide track (HIDE_TRACK_TAG): each key toggles the visibility of the node."""

    keys: Keys = keys(KeyLayout(0), _KEYS + "no value")


@chunk(0xB030, parents=NODE_IDS, once=True)
class NodeId(Chunk):
    """Hierarchy position (NODE_ID)."""

    id_: int = i16("unique value of the object, used for the hierarchy tree links")


# Autodesk's toolkit puts this chunk inside B010, Blender's exporter puts it next to B010.
@chunk(0x80F0, parents=(0xB010, *NODE_IDS))
class ParentName(Chunk):
    """Name of the parent (PARENT_NAME)."""

    name: bytes = strz("name of the parent")
