"""Every issue type that reading bytes can find, in one place. Codes never change; words may.

Severities follow one criterion: an error is what makes a scene unsafe to build (an index out of range, a cycle, a
count or a block that does not fit); what is merely odd is kept and reported as a warning.
"""

from __future__ import annotations

from keyframer.issues import IssueType, Severity

CATALOGUE: dict[str, IssueType] = {}


def issue_type(code: str, severity: Severity, template: str) -> IssueType:
    """Declare an issue type; a code can be declared once."""
    if code in CATALOGUE:
        raise ValueError(f"issue code {code} is declared twice")
    CATALOGUE[code] = IssueType(code, severity, template)
    return CATALOGUE[code]


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

IO_EMPTY = issue_type("IO_EMPTY", _E, "the file is empty (0 bytes)")
IO_UNRECOGNISED = issue_type("IO_UNRECOGNISED", _E, "{reason}")
IO_READ_FAILED = issue_type("IO_READ_FAILED", _E, "{reason}")
IO_CHANGED_DURING_READ = issue_type("IO_CHANGED_DURING_READ", _E, "the file changed while it was being read")

LIMIT_FILE_SIZE = issue_type("LIMIT_FILE_SIZE", _E, "{size} bytes, the limit is {limit}")
LIMIT_RECORDS = issue_type("LIMIT_RECORDS", _E, "more than {limit} records")
LIMIT_DEPTH = issue_type("LIMIT_DEPTH", _E, "nested deeper than {limit}")
LIMIT_NAME = issue_type("LIMIT_NAME", _E, "a name of {size} bytes, the limit is {limit}")
LIMIT_SAMPLES = issue_type("LIMIT_SAMPLES", _E, "{count} samples are wanted, the limit is {limit}")
LIMIT_KEYS = issue_type("LIMIT_KEYS", _E, "{count} keys would be made, the limit is {limit}")
LIMIT_FACES = issue_type("LIMIT_FACES", _E, "{count} faces would be made, the limit is {limit}")
LIMIT_PIXELS = issue_type("LIMIT_PIXELS", _E, "{count} pixels would be drawn, the limit is {limit}")
LIMIT_IMAGE_BYTES = issue_type(
    "LIMIT_IMAGE_BYTES", _E, "images would take {count} bytes when decoded, the limit is {limit}"
)
LIMIT_ARCHIVE_BYTES = issue_type(
    "LIMIT_ARCHIVE_BYTES", _E, "members of the archive would take {count} bytes when unpacked, the limit is {limit}"
)
LIMIT_COPIES = issue_type(
    "LIMIT_COPIES", _E, "{what} that are used many times over would become {count} numbers, the limit is {limit}"
)
LIMIT_BUDGETS = {
    "copies": LIMIT_COPIES,
    "keys": LIMIT_KEYS,
    "samples": LIMIT_SAMPLES,
    "faces": LIMIT_FACES,
    "pixels": LIMIT_PIXELS,
    "image_bytes": LIMIT_IMAGE_BYTES,
    "archive_bytes": LIMIT_ARCHIVE_BYTES,
}
"""what a budget counts (see `keyframer.limits`), and the code where it is too much"""

STRUCT_TRUNCATED = issue_type("STRUCT_TRUNCATED", _E, "{wanted} bytes wanted, {left} left")
STRUCT_CHUNK_TOO_SMALL = issue_type(
    "STRUCT_CHUNK_TOO_SMALL", _E, "a chunk of {size} bytes, its header and fixed fields take {least}"
)
STRUCT_CHUNK_OVERRUN = issue_type(
    "STRUCT_CHUNK_OVERRUN", _E, "the chunk claims {size} bytes, {left} are left in its parent"
)
STRUCT_CHUNK_SLACK = issue_type("STRUCT_CHUNK_SLACK", _W, "{size} bytes after the known fields, kept as they are")
STRUCT_CHUNK_MISPLACED = issue_type(
    "STRUCT_CHUNK_MISPLACED", _W, "{name} does not belong in {parent}, kept as raw bytes"
)
STRUCT_UNKNOWN_CHUNK = issue_type("STRUCT_UNKNOWN_CHUNK", _I, "unknown chunk of {size} bytes, kept as raw bytes")
STRUCT_CHUNK_MISSING = issue_type("STRUCT_CHUNK_MISSING", _E, "there is no {name}")
STRUCT_CHUNK_ORDER = issue_type("STRUCT_CHUNK_ORDER", _E, "{name} stands before {other}, which it depends on")
STRUCT_DUPLICATE_CHUNK = issue_type("STRUCT_DUPLICATE_CHUNK", _E, "{name} stands twice in {parent}")
STRUCT_COUNT_EXCEEDS_DATA = issue_type(
    "STRUCT_COUNT_EXCEEDS_DATA",
    _E,
    "{count} entries of at least {size} bytes are claimed, {left} bytes are left (room for {available})",
)
STRUCT_COUNT_NEGATIVE = issue_type("STRUCT_COUNT_NEGATIVE", _E, "a count of {count}")
STRUCT_TAG_MISMATCH = issue_type("STRUCT_TAG_MISMATCH", _E, "{expected} expected, {found} found")
STRUCT_STRING_UNTERMINATED = issue_type(
    "STRUCT_STRING_UNTERMINATED", _E, "text without an end in the {left} bytes that are left"
)
STRUCT_NAME_SUSPECT = issue_type(
    "STRUCT_NAME_SUSPECT",
    _W,
    "the sizes do not add up, and this name of {size} bytes is not plain ASCII: its end may be missing",
)
STRUCT_SYNTAX = issue_type("STRUCT_SYNTAX", _E, "{wanted} wanted, not {found}")
STRUCT_LEADING_DATA = issue_type("STRUCT_LEADING_DATA", _W, "{size} bytes before the first chunk, kept as they are")
STRUCT_TRAILING_DATA = issue_type("STRUCT_TRAILING_DATA", _W, "{size} bytes after the end, kept as they are")
STRUCT_NOT_REPRODUCIBLE = issue_type(
    "STRUCT_NOT_REPRODUCIBLE", _W, "numbers that would not be written back bit for bit (signalling NaN)"
)

SEM_EMPTY_DOCUMENT = issue_type("SEM_EMPTY_DOCUMENT", _W, "nothing inside")
SEM_AMBIGUOUS_DIALECT = issue_type(
    "SEM_AMBIGUOUS_DIALECT", _W, "{count} layouts fit equally well: read as {taken}, could also be {others}"
)
SEM_UNKNOWN_FLAG_BITS = issue_type("SEM_UNKNOWN_FLAG_BITS", _W, "bits {bits:#x} of the flags have no known meaning")
SEM_CONTRADICTORY_FLAGS = issue_type("SEM_CONTRADICTORY_FLAGS", _W, "{names} exclude each other; {taken} is taken")
SEM_UNKNOWN_VERSION = issue_type("SEM_UNKNOWN_VERSION", _W, "version {version}, only {known} is known")
SEM_UNKNOWN_ENUM = issue_type("SEM_UNKNOWN_ENUM", _E, "{value} is none of the known values {known}")
SEM_EXTENSION_UNKNOWN = issue_type("SEM_EXTENSION_UNKNOWN", _W, "the extension {name} is not understood: {effect}")
SEM_UNSUPPORTED_SCHEME = issue_type(
    "SEM_UNSUPPORTED_SCHEME", _E, "interpolation scheme {value}: nobody knows how its keys are stored ({known})"
)

LINK_INDEX_OUT_OF_RANGE = issue_type(
    "LINK_INDEX_OUT_OF_RANGE", _E, "{what} {item} names {kind} {index}, there are {count}"
)
LINK_NOT_SHOWN = issue_type("LINK_NOT_SHOWN", _I, "{count} of {total} {what} are not in the scene that is shown")
LINK_COUNT_MISMATCH = issue_type("LINK_COUNT_MISMATCH", _W, "{claimed} {what} are announced, {found} are there")
LINK_PARENT_CYCLE = issue_type("LINK_PARENT_CYCLE", _E, "{name} is among its own ancestors")
LINK_PARENT_MISSING = issue_type("LINK_PARENT_MISSING", _E, "the parent {parent} of {name} does not exist")
LINK_TARGET_CYCLE = issue_type(
    "LINK_TARGET_CYCLE", _W, "{name} looks at a target that it carries itself: the stored point is taken instead"
)
LINK_DUPLICATE_ID = issue_type("LINK_DUPLICATE_ID", _W, "the id {id} of {name} is already that of {other}")
LINK_UNRESOLVED_NAME = issue_type("LINK_UNRESOLVED_NAME", _W, "there is no {kind} called {name}")

DATA_NON_FINITE = issue_type("DATA_NON_FINITE", _W, "{count} numbers are not finite, the first at entry {index}")
DATA_KEYS_NOT_INCREASING = issue_type(
    "DATA_KEYS_NOT_INCREASING", _W, "key {index} at {time} does not come after the key before it"
)
DATA_TIME_HUGE = issue_type("DATA_TIME_HUGE", _W, "key {index} at {time}: more than ten million frames")
DATA_TCB_OUT_OF_RANGE = issue_type(
    "DATA_TCB_OUT_OF_RANGE",
    _W,
    "key {index}: tension, continuity or bias outside -1..1, or ease outside 0..1; the nearest allowed value plays",
)
DATA_VALUE_HUGE = issue_type("DATA_VALUE_HUGE", _W, "key {index} holds {value:g}: too large to be placed exactly")
DATA_MATRIX_SINGULAR = issue_type("DATA_MATRIX_SINGULAR", _W, "the matrix cannot be inverted: raw vertices are used")

SCENE_REST_POSE = issue_type(
    "SCENE_REST_POSE",
    _W,
    "stored vertices and keyframer disagree by {percent:.1f} % of the mesh's size; {choice} ({rule})",
)
SCENE_SIGN_FLIP = issue_type(
    "SCENE_SIGN_FLIP", _W, "{count} turns of nearly a full circle within one frame are read as sign flips of 3ds Max"
)
SEM_ZERO_WIDTH_FRAMES = issue_type(
    "SEM_ZERO_WIDTH_FRAMES", _E, "{frames} frames of 0 floats each: frames that consume nothing"
)

LINK_PARENT_AFTER_CHILD = issue_type("LINK_PARENT_AFTER_CHILD", _W, "{name} comes before its parent {parent}")
LINK_SKELETON_MISMATCH = issue_type("LINK_SKELETON_MISMATCH", _E, "the skeletons do not fit: {reason}")

DATA_QUATERNION_INVALID = issue_type(
    "DATA_QUATERNION_INVALID", _E, "x² + y² + z² is more than 1 (or no number) in frame {frame}: there is no real w"
)
DATA_RATE_INVALID = issue_type("DATA_RATE_INVALID", _E, "{rate} frames a second: times in seconds mean nothing")

SEM_RPH_WIDTH = issue_type(
    "SEM_RPH_WIDTH", _W, "a channel of type {type} with {floats} floats a frame is no figure: kept as raw numbers"
)
SCENE_DEFAULT_RIG = issue_type(
    "SCENE_DEFAULT_RIG",
    _I,
    "the clip has no skeleton: its {bones} bones use a default rig (give its skeleton)",
)
DATA_SCALE_INVALID = issue_type("DATA_SCALE_INVALID", _W, "a global scale of {scale}: nothing is scaled by it")
DATA_WEIGHT_SUM = issue_type(
    "DATA_WEIGHT_SUM",
    _W,
    "the weights of {count} vertices do not sum to 1 (vertex {index}: {total:g}); they are normalised for posing",
)
DATA_ZERO_AXIS = issue_type("DATA_ZERO_AXIS", _W, "{count} turns about an axis of length 0: read as no turn")
LINK_UNRESOLVED_ID = issue_type("LINK_UNRESOLVED_ID", _W, "there is no {kind} with the id {id}")
SCENE_BEZIER_SMOOTH = issue_type(
    "SCENE_BEZIER_SMOOTH", Severity.INFO, "Bezier keys without handles: played with smooth (Catmull-Rom) tangents"
)
SCENE_ROTATION_GUESSED = issue_type(
    "SCENE_ROTATION_GUESSED",
    _W,
    "{count} rotation keys are read as {choice}, which is a guess: with rotation_keys={other} they are another motion",
)
SCENE_NO_KEYS = issue_type(
    "SCENE_NO_KEYS", Severity.INFO, "a controller whose keys were not written to the file: its owner rests"
)

SEM_EMPTY_TRACK = issue_type("SEM_EMPTY_TRACK", _I, "nothing moves here: {what}")
SEM_MANY_CHANNELS = issue_type("SEM_MANY_CHANNELS", _W, "{count} channels, more than {most}")
SEM_DEEP_HIERARCHY = issue_type("SEM_DEEP_HIERARCHY", _W, "{depth} levels below its root, more than {most}")
SEM_DUPLICATE_NAME = issue_type("SEM_DUPLICATE_NAME", _I, "{count} {kind} are called {name}")
SEM_NAME_TOO_LONG = issue_type("SEM_NAME_TOO_LONG", _W, "a name of {size} bytes, {most} are allowed")
SEM_NAME_EMPTY = issue_type("SEM_NAME_EMPTY", _I, "a name without a letter")
SEM_NAME_ENCODING = issue_type(
    "SEM_NAME_ENCODING", _W, "{name} is neither ASCII nor UTF-8: which code page is meant is a guess"
)

SEC_NAME_CONTROL_CHARS = issue_type(
    "SEC_NAME_CONTROL_CHARS", _W, "{name} holds control characters, which could steer a terminal"
)
SEC_NAME_BIDI = issue_type("SEC_NAME_BIDI", _W, "{name} holds marks that turn the direction of text around")
SEC_NAME_MARKUP = issue_type("SEC_NAME_MARKUP", _W, "{name} looks like markup, which a web page could obey")
SEC_NAME_FORMULA = issue_type("SEC_NAME_FORMULA", _W, "{name} looks like a formula, which a spreadsheet could obey")
SEC_PATH_TRAVERSAL = issue_type("SEC_PATH_TRAVERSAL", _W, "the file name {name} leaves its folder")
SEC_PATH_ABSOLUTE = issue_type("SEC_PATH_ABSOLUTE", _W, "the file name {name} begins at the root of a disk")
SEC_PATH_UNC = issue_type("SEC_PATH_UNC", _W, "the file name {name} leads to another machine")
SEC_PATH_URL = issue_type("SEC_PATH_URL", _W, "the file name {name} is an address on a network")
SEC_PATH_RESERVED = issue_type(
    "SEC_PATH_RESERVED", _W, "the file name {name} is a device or a hidden stream on Windows"
)

LINK_RANGE_OVERLAP = issue_type("LINK_RANGE_OVERLAP", _W, "{what} {item} shares {kind} {index} with {what} {other}")

DATA_TIME_NEGATIVE = issue_type("DATA_TIME_NEGATIVE", _W, "key {index} at {time}: before the beginning")
DATA_QUATERNION_LENGTH = issue_type(
    "DATA_QUATERNION_LENGTH", _W, "a rotation of length {length:g} instead of 1: its direction is taken"
)
DATA_BOUNDS_INVERTED = issue_type(
    "DATA_BOUNDS_INVERTED", _W, "{count} boxes whose lower corner is not below the upper one, the first is box {index}"
)
DATA_FRAME_RANGE_INVERTED = issue_type("DATA_FRAME_RANGE_INVERTED", _W, "from frame {start} back to {end}")
DATA_FRAME_RANGE_HUGE = issue_type("DATA_FRAME_RANGE_HUGE", _W, "from frame {start} to {end}: more than a million")
DATA_ANGLE_HUGE = issue_type(
    "DATA_ANGLE_HUGE", _W, "an angle of {angle:g} at {index}: the fraction of a turn is lost in rounding"
)

STAGE_FILE_MISSING = issue_type("STAGE_FILE_MISSING", _W, "{what} needs the file {name}, which is not in the archive")
STAGE_FILE_UNUSED = issue_type("STAGE_FILE_UNUSED", _I, "nothing in the archive refers to this file")
STAGE_EXTENSION_MISSING = issue_type("STAGE_EXTENSION_MISSING", _I, "{name} has no extension: {taken} is taken")
STAGE_CASE_COLLISION = issue_type("STAGE_CASE_COLLISION", _W, "the name differs from {other} only by case")
STAGE_FILE_IN_FOLDER = issue_type("STAGE_FILE_IN_FOLDER", _W, "the files of a show are not in folders")
STAGE_PACKING = issue_type("STAGE_PACKING", _E, "{problem}: members are stored or deflated, nothing else")
STAGE_MODEL_SCALE = issue_type(
    "STAGE_MODEL_SCALE", _W, "the file is {factor:g} times as large as the dimensions {stated} of the model {name!r}"
)
STAGE_MODEL_VERTICES = issue_type(
    "STAGE_MODEL_VERTICES", _W, "the models of the fixture have {count} vertices, at most {most} are allowed"
)
STAGE_GLTF_RULE = issue_type("STAGE_GLTF_RULE", _W, "{problem}, which glTF files in such an archive must not have")
STAGE_MODEL_PART_IGNORED = issue_type(
    "STAGE_MODEL_PART_IGNORED", _W, "the model has {what}; models in such an archive are still"
)
STAGE_NESTED_ARCHIVE = issue_type("STAGE_NESTED_ARCHIVE", _W, "an archive inside an archive is not opened")

IO_PAIR_UNFINISHED = issue_type(
    "IO_PAIR_UNFINISHED",
    _E,
    "a run was cut short while it wrote the files of {stem}; the next run that writes into this folder finishes them",
)
RUN_OUTPUT_COLLISION = issue_type("RUN_OUTPUT_COLLISION", _E, "{reason}")
RUN_OUTPUT_REFUSED = issue_type("RUN_OUTPUT_REFUSED", _E, "{reason}")
RUN_PILLOW_MISSING = issue_type(
    "RUN_PILLOW_MISSING", _E, "images need Pillow, which is not installed (pip install pillow)"
)
RUN_REFUSED = issue_type("RUN_REFUSED", _E, "{reason}")
RUN_WORKER_KILLED = issue_type("RUN_WORKER_KILLED", _E, "{reason}")
RUN_INTERNAL_ERROR = issue_type("RUN_INTERNAL_ERROR", _E, "{reason}")
LIMIT_TIME = issue_type("LIMIT_TIME", _E, "more than {seconds:g} seconds")
LIMIT_MEMORY = issue_type("LIMIT_MEMORY", _E, "{reason}")
