"""Every issue type, in one place. Codes never change; messages may.

A problem of a file is an error if it makes a scene unsafe to build (an index out of range, a cycle, a count or a block
that does not fit); anything merely odd is a warning. Errors with a ``DATA_`` code are invalid values, which playback
can handle. In a template, ``{size: byte}`` is a number with its noun: "1 byte", "2 bytes".
"""

from __future__ import annotations

from keyframer.issues import IssueType, Severity

CATALOGUE: dict[str, IssueType] = {}


def issue_type(code: str, severity: Severity, template: str) -> IssueType:
    """Declare an issue type; each code can be declared once."""
    if code in CATALOGUE:
        raise ValueError(f"issue code {code} is declared twice")
    CATALOGUE[code] = IssueType(code, severity, template)
    return CATALOGUE[code]


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

IO_EMPTY = issue_type("IO_EMPTY", _E, "the file is empty (0 bytes)")
IO_UNRECOGNISED = issue_type("IO_UNRECOGNISED", _E, "{reason}")
IO_READ_FAILED = issue_type("IO_READ_FAILED", _E, "{reason}")
IO_TEXT_MODE = issue_type("IO_TEXT_MODE", _W, "{damage}")
IO_MANIFEST_MISMATCH = issue_type("IO_MANIFEST_MISMATCH", _E, "{reason}")
IO_CHANGED_DURING_READ = issue_type("IO_CHANGED_DURING_READ", _E, "the file changed while it was being read")

LIMIT_FILE_SIZE = issue_type("LIMIT_FILE_SIZE", _E, "the file has {size: byte}, the limit is {limit}")
LIMIT_RECORDS = issue_type("LIMIT_RECORDS", _E, "the file has more than {limit: record}")
LIMIT_DEPTH = issue_type("LIMIT_DEPTH", _E, "nested more than {limit: level} deep")
LIMIT_NAME = issue_type("LIMIT_NAME", _E, "a name has {size: byte}, the limit is {limit}")
LIMIT_NODES = issue_type(
    "LIMIT_NODES", _E, "{count: node} would be written, the limit for a file of this size is {limit}"
)
LIMIT_SAMPLES = issue_type("LIMIT_SAMPLES", _E, "{count: sample} requested, the limit is {limit}")
LIMIT_KEYS = issue_type("LIMIT_KEYS", _E, "{count: key} would be created, the limit is {limit}")
LIMIT_FACES = issue_type("LIMIT_FACES", _E, "{count: face} would be drawn or written, the limit is {limit}")
LIMIT_PIXELS = issue_type("LIMIT_PIXELS", _E, "{count: pixel} would be drawn, the limit is {limit}")
LIMIT_IMAGE_BYTES = issue_type("LIMIT_IMAGE_BYTES", _E, "decoded images would take {count: byte}, the limit is {limit}")
LIMIT_ARCHIVE_BYTES = issue_type(
    "LIMIT_ARCHIVE_BYTES", _E, "unpacked members of the archive would take {count: byte}, the limit is {limit}"
)
LIMIT_COPIES = issue_type("LIMIT_COPIES", _E, "{what} would expand to {count: number}, the limit is {limit}")
LIMIT_BUDGETS = {
    "copies": LIMIT_COPIES,
    "nodes": LIMIT_NODES,
    "keys": LIMIT_KEYS,
    "samples": LIMIT_SAMPLES,
    "faces": LIMIT_FACES,
    "pixels": LIMIT_PIXELS,
    "image_bytes": LIMIT_IMAGE_BYTES,
    "archive_bytes": LIMIT_ARCHIVE_BYTES,
}
"""what a budget counts (see `keyframer.limits`), and the issue type for exceeding it"""

STRUCT_TRUNCATED = issue_type("STRUCT_TRUNCATED", _E, "expected {wanted: byte}, {left} remaining")
STRUCT_CHUNK_TOO_SMALL = issue_type(
    "STRUCT_CHUNK_TOO_SMALL", _E, "the chunk has {size: byte}, but its header and fixed fields need {least}"
)
STRUCT_CHUNK_OVERRUN = issue_type(
    "STRUCT_CHUNK_OVERRUN", _E, "the chunk claims {size: byte}, but its parent has room for {left}"
)
STRUCT_CHUNK_SLACK = issue_type("STRUCT_CHUNK_SLACK", _W, "{size: byte} after the known fields, kept unchanged")
STRUCT_CHUNK_MISPLACED = issue_type(
    "STRUCT_CHUNK_MISPLACED", _W, "{name} is not allowed in {parent}, kept as raw bytes"
)
STRUCT_UNKNOWN_CHUNK = issue_type(
    "STRUCT_UNKNOWN_CHUNK", _I, "unknown chunk with {size: byte} of content, not interpreted"
)
STRUCT_CHUNK_MISSING = issue_type("STRUCT_CHUNK_MISSING", _E, "{name} is missing")
STRUCT_CHUNK_ORDER = issue_type("STRUCT_CHUNK_ORDER", _E, "{name} comes before {other}, on which it depends")
STRUCT_DUPLICATE_CHUNK = issue_type("STRUCT_DUPLICATE_CHUNK", _E, "{name} occurs more than once in {parent}")
STRUCT_COUNT_EXCEEDS_DATA = issue_type(
    "STRUCT_COUNT_EXCEEDS_DATA",
    _E,
    "the count claims {count: entry} of at least {size: byte} each, but there is room for {available} "
    "({left: byte} remaining)",
)
STRUCT_COUNT_NEGATIVE = issue_type("STRUCT_COUNT_NEGATIVE", _E, "negative count: {count}")
STRUCT_TAG_MISMATCH = issue_type("STRUCT_TAG_MISMATCH", _E, "expected {expected}, found {found}")
STRUCT_STRING_UNTERMINATED = issue_type("STRUCT_STRING_UNTERMINATED", _E, "text has no terminator within {left: byte}")
STRUCT_NAME_SUSPECT = issue_type(
    "STRUCT_NAME_SUSPECT",
    _W,
    "the sizes do not add up and this name of {size: byte} is not ASCII: its terminator may be missing",
)
STRUCT_SYNTAX = issue_type("STRUCT_SYNTAX", _E, "expected {wanted}, found {found}")
STRUCT_TRAILING_DATA = issue_type("STRUCT_TRAILING_DATA", _W, "{size: byte} after the end, not interpreted")
STRUCT_NOT_REPRODUCIBLE = issue_type(
    "STRUCT_NOT_REPRODUCIBLE", _W, "signalling NaN: the numbers would not be written back bit for bit"
)

SEM_EMPTY_DOCUMENT = issue_type("SEM_EMPTY_DOCUMENT", _W, "the file has no content")
SEM_AMBIGUOUS_DIALECT = issue_type(
    "SEM_AMBIGUOUS_DIALECT", _W, "{count: dialect} fit equally well: read as {taken}, could also be {others}"
)
SEM_UNKNOWN_FLAG_BITS = issue_type("SEM_UNKNOWN_FLAG_BITS", _W, "unknown flag bits {bits:#x}")
SEM_CONTRADICTORY_FLAGS = issue_type("SEM_CONTRADICTORY_FLAGS", _W, "{names} exclude each other; {taken} is used")
SEM_UNKNOWN_VERSION = issue_type("SEM_UNKNOWN_VERSION", _W, "unknown version {version} (known: {known})")
SEM_UNKNOWN_ENUM = issue_type("SEM_UNKNOWN_ENUM", _E, "unknown value {value} (known: {known})")
SEM_EXTENSION_UNKNOWN = issue_type("SEM_EXTENSION_UNKNOWN", _W, "unsupported extension {name}: {effect}")
SEM_SOURCE_OUTDATED = issue_type(
    "SEM_SOURCE_OUTDATED", _W, "the content was changed after {name} was embedded: it is read as glTF, without {name}"
)
SEM_UNSUPPORTED_SCHEME = issue_type(
    "SEM_UNSUPPORTED_SCHEME", _E, "unsupported interpolation scheme {value} (known: {known})"
)

LINK_INDEX_OUT_OF_RANGE = issue_type(
    "LINK_INDEX_OUT_OF_RANGE", _E, "{what} {item} refers to {kind} {index}, which does not exist (count: {count})"
)
LINK_NOT_SHOWN = issue_type("LINK_NOT_SHOWN", _I, "the displayed scene leaves out {count} of {total: node}")
LINK_COUNT_MISMATCH = issue_type("LINK_COUNT_MISMATCH", _W, "{what}: expected {claimed}, found {found}")
LINK_PARENT_CYCLE = issue_type("LINK_PARENT_CYCLE", _E, "{name} is its own ancestor")
LINK_PARENT_MISSING = issue_type("LINK_PARENT_MISSING", _W, "the parent {parent} of {name} does not exist")
LINK_TARGET_CYCLE = issue_type(
    "LINK_TARGET_CYCLE",
    _W,
    "{name} and its target node depend on each other; the target node is ignored",
)
LINK_DUPLICATE_ID = issue_type("LINK_DUPLICATE_ID", _W, "{name} has the {what} {id}, which {other} already has")
LINK_UNRESOLVED_NAME = issue_type("LINK_UNRESOLVED_NAME", _W, "no {kind} is named {name}")

DATA_NON_FINITE = issue_type(
    "DATA_NON_FINITE", _W, "{count: non-finite or too large number}, the first at entry {index}"
)
DATA_KEYS_NOT_INCREASING = issue_type(
    "DATA_KEYS_NOT_INCREASING", _W, "key {index} at {time} is not later than the previous key"
)
DATA_TIME_HUGE = issue_type("DATA_TIME_HUGE", _W, "key {index} at {time}: implausibly far from 0")
DATA_TCB_OUT_OF_RANGE = issue_type(
    "DATA_TCB_OUT_OF_RANGE",
    _W,
    "key {index}: tension, continuity or bias outside -1..1, or ease outside 0..1; clamped for playback",
)
DATA_VALUE_HUGE = issue_type(
    "DATA_VALUE_HUGE", _W, "key {index} has a number of magnitude {value:g}: too large to compute with exactly"
)
DATA_MATRIX_SINGULAR = issue_type("DATA_MATRIX_SINGULAR", _W, "the matrix cannot be inverted; raw vertices are used")

SCENE_REST_POSE = issue_type(
    "SCENE_REST_POSE",
    _W,
    "stored vertices and keyframer data differ by {percent:.1f} % of the mesh size; {choice} ({rule})",
)
SCENE_SIGN_FLIP = issue_type(
    "SCENE_SIGN_FLIP",
    _W,
    "{count: sign flip} of 3ds Max repaired (turns of nearly a full circle within one frame)",
)
SEM_ZERO_WIDTH_FRAMES = issue_type(
    "SEM_ZERO_WIDTH_FRAMES", _E, "{frames: frame} of 0 floats: such frames take no bytes"
)

LINK_PARENT_AFTER_CHILD = issue_type("LINK_PARENT_AFTER_CHILD", _W, "{name} comes before its parent {parent}")
LINK_SKELETON_MISMATCH = issue_type("LINK_SKELETON_MISMATCH", _E, "the skeletons do not match: {reason}")

DATA_QUATERNION_INVALID = issue_type(
    "DATA_QUATERNION_INVALID", _E, "x² + y² + z² is greater than 1 or not finite in {frame}: w is undefined"
)
DATA_RATE_INVALID = issue_type("DATA_RATE_INVALID", _E, "invalid frame rate: {rate}")

SEM_RPH_WIDTH = issue_type(
    "SEM_RPH_WIDTH",
    _W,
    "a channel of type {type} with {floats: float} per frame is not character motion; kept as raw numbers",
)
SEM_MOTION_NOT_PLAYED = issue_type(
    "SEM_MOTION_NOT_PLAYED", _W, "motion of {bones: bone} is not played but kept as raw numbers: {reason}"
)
SCENE_DEFAULT_RIG = issue_type(
    "SCENE_DEFAULT_RIG",
    _I,
    "no usable skeleton: {bones: bone} placed by a default rig (pass the skeleton file)",
)
SCENE_NO_HIERARCHY = issue_type(
    "SCENE_NO_HIERARCHY", _I, "the hierarchy is in another file ({missing}): {count: node} side by side"
)
DATA_SCALE_INVALID = issue_type("DATA_SCALE_INVALID", _W, "invalid global scale {scale}: ignored")
DATA_WEIGHT_SUM = issue_type(
    "DATA_WEIGHT_SUM",
    _W,
    "weights do not sum to 1 at {count: vertex} (vertex {index}: {total:g}); normalised for posing",
)
DATA_ZERO_AXIS = issue_type("DATA_ZERO_AXIS", _W, "{count: rotation} about an axis of length 0: read as no rotation")
LINK_UNRESOLVED_ID = issue_type("LINK_UNRESOLVED_ID", _W, "no {kind} has the id {id}")
SCENE_BEZIER_SMOOTH = issue_type(
    "SCENE_BEZIER_SMOOTH",
    Severity.INFO,
    "Bezier keys: played with smooth (Catmull-Rom) tangents, whether or not the file stores tangents",
)
SCENE_ROTATION_GUESSED = issue_type(
    "SCENE_ROTATION_GUESSED",
    _W,
    "{count: rotation key} read as {choice}; this is a guess ({other} reads them the other way)",
)
SCENE_NO_KEYS = issue_type(
    "SCENE_NO_KEYS", Severity.INFO, "the keys of this controller are not in the file: it has no effect"
)

SEM_EMPTY_TRACK = issue_type("SEM_EMPTY_TRACK", _I, "no animation: {what}")
SEM_MANY_CHANNELS = issue_type("SEM_MANY_CHANNELS", _W, "{count: channel}, more than {most}")
SEM_DEEP_HIERARCHY = issue_type("SEM_DEEP_HIERARCHY", _W, "{depth: level} below its root, more than {most}")
SEM_DUPLICATE_NAME = issue_type("SEM_DUPLICATE_NAME", _I, "{count} {kind} have the name {name}")
SEM_NAME_TOO_LONG = issue_type("SEM_NAME_TOO_LONG", _W, "a name has {size: byte}, more than {most}")
SEM_NAME_EMPTY = issue_type("SEM_NAME_EMPTY", _I, "the name is empty")
SEM_NAME_ENCODING = issue_type("SEM_NAME_ENCODING", _W, "{name} is neither ASCII nor UTF-8: the code page is a guess")

SEC_NAME_CONTROL_CHARS = issue_type(
    "SEC_NAME_CONTROL_CHARS", _W, "{name} contains control characters, which could control a terminal"
)
SEC_NAME_BIDI = issue_type("SEC_NAME_BIDI", _W, "{name} contains marks that reverse the direction of text")
SEC_NAME_MARKUP = issue_type("SEC_NAME_MARKUP", _W, "{name} looks like markup, which a web page could execute")
SEC_NAME_FORMULA = issue_type("SEC_NAME_FORMULA", _W, "{name} looks like a formula, which a spreadsheet could execute")
SEC_PATH_TRAVERSAL = issue_type("SEC_PATH_TRAVERSAL", _I, "the file name {name} points outside its folder")
SEC_PATH_ABSOLUTE = issue_type("SEC_PATH_ABSOLUTE", _I, "the file name {name} is an absolute path")
SEC_PATH_UNC = issue_type("SEC_PATH_UNC", _I, "the file name {name} points to another machine")
SEC_PATH_URL = issue_type("SEC_PATH_URL", _W, "the file name {name} is a URL")
SEC_PATH_RESERVED = issue_type(
    "SEC_PATH_RESERVED",
    _W,
    "the file name {name} is not usable on every system "
    "(a device, a data stream, control characters, a blank or dot at the end, or too long)",
)

LINK_RANGE_OVERLAP = issue_type("LINK_RANGE_OVERLAP", _W, "{what} {item} shares {kind} {index} with {what} {other}")

DATA_TIME_NEGATIVE = issue_type("DATA_TIME_NEGATIVE", _W, "key {index} at {time}: negative time")
DATA_QUATERNION_LENGTH = issue_type(
    "DATA_QUATERNION_LENGTH", _W, "a rotation quaternion of length {length:g}, normalised to 1"
)
DATA_BOUNDS_INVERTED = issue_type(
    "DATA_BOUNDS_INVERTED",
    _W,
    "{count: box} with a lower corner above the upper one or with NaN, the first is box {index}",
)
DATA_FRAME_RANGE_INVERTED = issue_type(
    "DATA_FRAME_RANGE_INVERTED", _W, "the frame range ends ({end}) before it starts ({start})"
)
DATA_FRAME_RANGE_HUGE = issue_type(
    "DATA_FRAME_RANGE_HUGE", _W, "the frame range from {start} to {end} exceeds a million frames"
)
DATA_OUT_OF_RANGE = issue_type("DATA_OUT_OF_RANGE", _W, "{what} is {value}: {allowed}")
DATA_ZERO_ROWS = issue_type(
    "DATA_ZERO_ROWS",
    _W,
    "rows {first} to {last} of {total} are zero, unlike the others: the file may have lost a sector here",
)
DATA_ANGLE_HUGE = issue_type(
    "DATA_ANGLE_HUGE", _W, "entry {index} is an angle of {angle:g}: too large to be precise within a turn"
)

STAGE_FILE_MISSING = issue_type("STAGE_FILE_MISSING", _W, "{what} needs the file {name}, which is not in the archive")
STAGE_FILE_UNUSED = issue_type("STAGE_FILE_UNUSED", _I, "nothing in the archive refers to this file")
STAGE_EXTENSION_MISSING = issue_type("STAGE_EXTENSION_MISSING", _I, "{name!r} has no extension: {taken} is used")
STAGE_CASE_COLLISION = issue_type("STAGE_CASE_COLLISION", _W, "the name differs from {other} only by case")
STAGE_FILE_IN_FOLDER = issue_type("STAGE_FILE_IN_FOLDER", _W, "files of a show must not be in folders")
STAGE_PACKING = issue_type("STAGE_PACKING", _W, "{problem}: members must be stored or deflated, and not encrypted")
STAGE_MODEL_SCALE = issue_type(
    "STAGE_MODEL_SCALE",
    _W,
    "the file is {factor:g} times as large as the stated dimensions {stated} of the model {name!r}",
)
STAGE_MODEL_VERTICES = issue_type(
    "STAGE_MODEL_VERTICES", _W, "the models of the fixture have {count: vertex}, more than {most}"
)
STAGE_GLTF_RULE = issue_type("STAGE_GLTF_RULE", _W, "{problem}, which is not allowed for glTF files in stage archives")
PROFILE_REFUSED = issue_type("PROFILE_REFUSED", _E, "{engine} refuses the file: {reason}")
PROFILE_IGNORED = issue_type("PROFILE_IGNORED", _W, "{engine} ignores it: {reason}")

STAGE_MODEL_PART_IGNORED = issue_type(
    "STAGE_MODEL_PART_IGNORED", _W, "the model has {what}, ignored: models in stage archives do not move"
)
STAGE_NESTED_ARCHIVE = issue_type("STAGE_NESTED_ARCHIVE", _W, "archives inside archives are not opened")

RUN_OUTPUT_COLLISION = issue_type("RUN_OUTPUT_COLLISION", _E, "{reason}")
RUN_OUTPUT_REFUSED = issue_type("RUN_OUTPUT_REFUSED", _E, "{reason}")
RUN_PILLOW_MISSING = issue_type(
    "RUN_PILLOW_MISSING", _E, "images need Pillow, which is not installed (pip install pillow)"
)
RUN_REFUSED = issue_type("RUN_REFUSED", _E, "{reason}")
RUN_WORKER_KILLED = issue_type("RUN_WORKER_KILLED", _E, "{reason}")
RUN_INTERNAL_ERROR = issue_type("RUN_INTERNAL_ERROR", _E, "{reason}")
LIMIT_TIME = issue_type("LIMIT_TIME", _E, "took more than {seconds:g} s")
LIMIT_MEMORY = issue_type("LIMIT_MEMORY", _E, "{reason}")
