"""Every type of loss, in one place: what a conversion can do to a part of a scene. Codes never change; words may.

A sentence says what happened, in words that suit every format ("this format"). The noun of a summary says what looks
or moves differently; without one, it is made from the path. In a template, ``{count: key}`` is a number with its noun.
"""

from __future__ import annotations

from keyframer.scene.loss_report import LossType, Outcome

LOSSES: dict[str, LossType] = {}


def loss_type(
    code: str,
    outcome: Outcome,
    template: str,
    summary: str | None = "",
    *,
    advice: str = "",
    unit: str | None = None,
) -> LossType:
    """Declare a type of loss; each code can be declared once."""
    if code in LOSSES:
        raise ValueError(f"loss code {code} is declared twice")
    LOSSES[code] = LossType(code, outcome, template, summary, advice, unit)
    return LOSSES[code]


_EXACT, _NEAR, _BAKED = Outcome.EXACT, Outcome.APPROXIMATED, Outcome.BAKED
_EXTRAS, _DROPPED = Outcome.EXTRAS, Outcome.DROPPED
_LENGTH, _DEGREE, _SECOND = "scene unit", "degree", "second"

# What a format cannot store, found from what it declares

_FEATURES = (
    *("parents", "meshes", "materials", "cameras", "lights", "skins", "morphs", "pivots", "scale axes"),
    *("hidden nodes", "smoothing", "vertex colours", "vertex alpha", "second coordinates", "normals", "cast shadows"),
    *("received shadows", "textures", "other maps", "raw channels", "dummies", "unused meshes", "unused cameras"),
    *("unused lights", "environment", "bounds", "title", "author", "copyright"),
)
FEATURES_UNSUPPORTED = {
    feature: loss_type(
        f"{feature.upper().replace(' ', '_')}_UNSUPPORTED",
        _DROPPED,
        "{target} cannot store {what}",
        None if feature in ("bounds", "pivots") else "{what}",
    )
    for feature in _FEATURES
}
"""by feature of a scene (`formats.kit.unsupported_features`): ``LIGHTS_UNSUPPORTED`` …"""
TRACKS_UNSUPPORTED = loss_type("TRACKS_UNSUPPORTED", _DROPPED, "{target} cannot store {what}", "{what}")
FIELD_UNSUPPORTED = loss_type(
    "FIELD_UNSUPPORTED", _DROPPED, "{target} cannot store '{field}' of {parts}", "{field} of {parts}"
)
UNSEEN_FIELD_UNSUPPORTED = loss_type(
    "UNSEEN_FIELD_UNSUPPORTED", _DROPPED, "{target} cannot store '{field}' of {parts}", None
)
FIELD_KEPT = loss_type("FIELD_KEPT", _EXTRAS, "this format has no place for it")
EXTRAS_UNSUPPORTED = loss_type(
    "EXTRAS_UNSUPPORTED", _DROPPED, "{target} cannot store '{field}' of {parts}, which the file has", None
)
EXTRAS_KEPT = loss_type("EXTRAS_KEPT", _EXTRAS, "'{field}' of {parts}, which the file has", None)
SCENE_EXTRAS_KEPT = loss_type("SCENE_EXTRAS_KEPT", _EXTRAS, "data that the scene model cannot store", None)
NAMES_UNSUPPORTED = loss_type(
    "NAMES_UNSUPPORTED", _DROPPED, "{target} {rule}: the {names} of {parts} {lost} lost", None
)
DIALECT_UNSUPPORTED = loss_type("DIALECT_UNSUPPORTED", _DROPPED, "this dialect cannot store {what}", "{what}")
ENVIRONMENT_USES = loss_type(
    "ENVIRONMENT_USES",
    _DROPPED,
    "this format cannot store which parts of the environment are in use, except for the background colour",
    "which parts of the environment are in use",
)
BACKGROUND_UNUSED = loss_type(
    "BACKGROUND_UNUSED",
    _DROPPED,
    "this format stores the background colour only if it is in use",
    "the background colour, which is not in use",
)
COPYRIGHT_ELSEWHERE = loss_type(
    "COPYRIGHT_ELSEWHERE", _DROPPED, "the copyright can be stored only as part of the author text", "the copyright"
)
READER_OPTION_NEEDED = loss_type(
    "READER_OPTION_NEEDED",
    _DROPPED,
    "readers need the option {name}={value}, which the file does not store",
    "the option {name}={value}, which readers need",
)

# Reading and editing in place

READING_LEFT_OUT = loss_type("READING_LEFT_OUT", _DROPPED, "left out while reading: {problem}", "{problem}")
SALVAGE_LEFT_OUT = loss_type("SALVAGE_LEFT_OUT", _DROPPED, "left out by salvage: {problem}", "damaged parts")
LINK_INVALID = loss_type("LINK_INVALID", _DROPPED, "{problem}", "link")
ORIGINAL_UNCHANGED = loss_type("ORIGINAL_UNCHANGED", _EXACT, "no changes: the original was written unmodified")
ORIGINAL_REWRITTEN = loss_type(
    "ORIGINAL_REWRITTEN",
    _BAKED,
    "the original could not be edited in place ({reason}): a new file was written",
    "a new file, because {reason}",
)
ORIGINAL_UNKNOWN_BYTES = loss_type(
    "ORIGINAL_UNKNOWN_BYTES", _DROPPED, "{count: unknown byte} of the original", "unknown bytes of the original"
)
ORIGINAL_MORE_UNKNOWN_BYTES = loss_type(
    "ORIGINAL_MORE_UNKNOWN_BYTES", _DROPPED, "{count: more unknown byte} in {places: place}", None
)
ORIGINAL_RECORDS = loss_type(
    "ORIGINAL_RECORDS",
    _DROPPED,
    "records of the original that the new file does not have: {records}",
    "records of the original",
)
EDIT_WRITTEN = loss_type("EDIT_WRITTEN", _EXACT, "written into the original document")
EDIT_NOT_STORED = loss_type(
    "EDIT_NOT_STORED", _DROPPED, "the format cannot store it, or other parts of the scene override it"
)
EDIT_NOT_BROUGHT_IN = loss_type(
    "EDIT_NOT_BROUGHT_IN",
    _DROPPED,
    "{what} changed, which is not written into the original",
    advice="export a new file",
)
EDIT_OVERRIDDEN = loss_type(
    "EDIT_OVERRIDDEN",
    _DROPPED,
    "the {kind} track of the node overrides it",
    advice="change the keys of the track, or remove its channel",
)
PART_REMOVED = loss_type("PART_REMOVED", _EXACT, "removed from the original")
PART_REPLACED = loss_type("PART_REPLACED", _EXACT, "replaced in the original")
PART_ADDED = loss_type("PART_ADDED", _EXACT, "added to the original")
REMOVED_UNKNOWN = loss_type(
    "REMOVED_UNKNOWN", _DROPPED, "removed with {count: unknown record} inside it", "unknown records of removed nodes"
)
SOURCE_EMBEDDED = loss_type(
    "SOURCE_EMBEDDED", _EXACT, "{name} is embedded, and read back as long as the content stays the same"
)

# Space, rate and clips

AXES_TURNED = loss_type(
    "AXES_TURNED", _BAKED, "the axes of the scene and of its nodes were turned: {given} became {written}", None
)
LENGTHS_KEPT = loss_type("LENGTHS_KEPT", _BAKED, "lengths are written without conversion: {reason}", None)
LENGTHS_SCALED = loss_type(
    "LENGTHS_SCALED", _BAKED, "all lengths were multiplied by {factor:g}; {kept}", "lengths, now times {factor:g}"
)
UNIT_DIFFERENT = loss_type(
    "UNIT_DIFFERENT",
    _DROPPED,
    "a unit is {metres:g} m in the file and {kept:g} m in the Blender scene; the numbers were kept",
    "the unit of the file",
)
UNIT_TAKEN = loss_type("UNIT_TAKEN", _EXACT, "a unit of the Blender scene is now {metres:g} m")
CLIP_EXTRA = loss_type(
    "CLIP_EXTRA", _DROPPED, "this format can store only one clip", advice="--clip NAME, once for each clip"
)
CLIP_NOT_PLAYING = loss_type(
    "CLIP_NOT_PLAYING", _DROPPED, "only the clip that is playing is exported", advice="play this clip, and export again"
)
CLIP_SECTION = loss_type(
    "CLIP_SECTION", _EXACT, "{begin:.4g} to {end:.4g} seconds of the only animation: the frame range of a player"
)
CLIP_NAME_SHARED = loss_type(
    "CLIP_NAME_SHARED", _DROPPED, "the format stores one name for the scene and its clip: the title", None
)
CLIP_CUT_LIMITED = loss_type(
    "CLIP_CUT_LIMITED",
    _NEAR,
    "the clip has frames {begin:g} to {end:g}: frames {first:g} to {last:g} were kept",
    "the frames that were asked for",
)
CLIP_START_MOVED = loss_type(
    "CLIP_START_MOVED",
    _NEAR,
    "frames begin at 0: all times are later by {seconds:g} s",
    "all times, later by {seconds:.2g} s",
)
CLIP_START_LOST = loss_type(
    "CLIP_START_LOST", _DROPPED, "an animation starts at frame 0", "the first frame of the clip"
)
CLIP_END_MOVED = loss_type("CLIP_END_MOVED", _NEAR, "the animation ends at frame {last}", "the end of the clip")
CLIP_END_AT_LAST_KEY = loss_type(
    "CLIP_END_AT_LAST_KEY",
    _DROPPED,
    "the format plays all frames: the clip ends at its last key, frame {last:g}",
    "the end of the clip",
)
CURRENT_ROUNDED = loss_type("CURRENT_ROUNDED", _NEAR, "the current frame became {frame}", None)
SEGMENT_KEPT = loss_type(
    "SEGMENT_KEPT",
    _EXTRAS,
    "the file plays frames {played}",
    "the active segment",
    advice="--cut active writes only these",
)
SEGMENT_ROUNDED = loss_type(
    "SEGMENT_ROUNDED", _NEAR, "the active segment became {unit_name} {first:g} to {last:g}", "the active segment"
)
SEGMENT_UNSUPPORTED = loss_type(
    "SEGMENT_UNSUPPORTED",
    _DROPPED,
    "{target} has no active segment: {first:g} to {last:g} is played instead of {begin:g} to {end:g}",
    "the active segment",
)
RATE_SAMPLED = loss_type(
    "RATE_SAMPLED", _NEAR, "sampled at {fps:g} frames per second; the clip has {clip_fps:g}", "the frame rate"
)
RATE_ROUNDED = loss_type(
    "RATE_ROUNDED", _NEAR, "the frame rate became {fps}; the clip has {clip_fps:g}", "the frame rate"
)
RATE_UNSUPPORTED = loss_type(
    "RATE_UNSUPPORTED",
    _DROPPED,
    "the format has no frame rate: written for {fps:g} frames per second, the clip has {clip_fps:g}",
    "the frame rate",
)
RATE_KEPT = loss_type(
    "RATE_KEPT",
    _DROPPED,
    "the file keeps its {fps:g} frames per second, the clip has {clip_fps:g}: keys keep their times in seconds",
    "the frame rate",
)
BOUNDS_KEPT = loss_type("BOUNDS_KEPT", _EXTRAS, "bounding boxes of the frames", None)
BOUNDS_RECOMPUTED = loss_type("BOUNDS_RECOMPUTED", _BAKED, "bounding boxes were recomputed", None)
RAW_CHANNEL_KEPT = loss_type("RAW_CHANNEL_KEPT", _EXTRAS, "numbers of unknown meaning", "numbers of unknown meaning")
RAW_CHANNEL_LENGTH = loss_type(
    "RAW_CHANNEL_LENGTH", _NEAR, "{count: frame} became {frames}, as many as the clip has", "numbers of unknown meaning"
)
RAW_CHANNEL_DROPPED = loss_type(
    "RAW_CHANNEL_DROPPED", _DROPPED, "{count: frame}, but the clip has {frames}", "numbers of unknown meaning"
)

# Motion

KEYS_KEPT = loss_type("KEYS_KEPT", _EXACT, "{keys}")
KEYS_NON_FINITE = loss_type(
    "KEYS_NON_FINITE", _DROPPED, "non-finite numbers in {unusable} of {count: key}", "non-finite numbers"
)
NUMBERS_UNUSABLE = loss_type(
    "NUMBERS_UNUSABLE",
    _DROPPED,
    "{count: number} not finite or too large for single precision",
    "numbers that are not finite or too large",
)
KEYS_OUT_OF_RANGE = loss_type(
    "KEYS_OUT_OF_RANGE", _DROPPED, "this format cannot store the times of {outside} of {count: key}", "late keys"
)
KEYS_TOO_LATE = loss_type("KEYS_TOO_LATE", _DROPPED, "keys after frame {last:,.0f} are ignored", "late keys")
KEYS_AFTER_END = loss_type(
    "KEYS_AFTER_END", _DROPPED, "keys after {end:g} (up to {last:g}) are not written", "keys after the end of the clip"
)
KEYS_RESAMPLED = loss_type(
    "KEYS_RESAMPLED",
    _BAKED,
    "the authored keys of {count: track} became sampled ones",
    "authored keys",
    advice="--embed-source keeps them",
)
KEYS_PER_FRAME = loss_type(
    "KEYS_PER_FRAME",
    _NEAR,
    "too many frames for one key per frame; the allowed error determines the keys",
    "one key per frame",
)
KEYS_REDUCED = loss_type("KEYS_REDUCED", _NEAR, "{frames: frame} became {keys}")
KEYS_BETWEEN_FRAMES = loss_type("KEYS_BETWEEN_FRAMES", _NEAR, "keys between frames: written as {keys}")
KEYS_TANGENTS = loss_type(
    "KEYS_TANGENTS", _NEAR, "keys with tangents cannot be stored in this format: written as {keys}"
)
KEYS_KIND = loss_type("KEYS_KIND", _NEAR, "{kind} keys cannot be stored in this format: written as {keys}")
KEYS_EASE = loss_type("KEYS_EASE", _NEAR, "ease cannot be stored in this format: written as {keys}")
KEYS_FULL_TURNS = loss_type(
    "KEYS_FULL_TURNS", _NEAR, "turns of 360 degrees or more cannot be stored in this format: written as {keys}"
)
KEYS_HALF_TURNS = loss_type(
    "KEYS_HALF_TURNS", _NEAR, "turns of 180 degrees or more cannot be stored in this format: written as {keys}"
)
KEYS_WRAP = loss_type(
    "KEYS_WRAP", _NEAR, "tracks with the wrap '{wrap}' cannot be stored in this format: written as {keys}"
)
KEYS_WRAP_BETWEEN_FRAMES = loss_type(
    "KEYS_WRAP_BETWEEN_FRAMES", _NEAR, "a {wrap} cannot begin again between frames: written as {keys}"
)
STEPS_MOVED = loss_type(
    "STEPS_MOVED", _NEAR, "steps were moved to the next frame, by up to {seconds:.2g} s", unit=_SECOND
)
JUMPS_LENGTHENED = loss_type(
    "JUMPS_LENGTHENED", _NEAR, "{count: jump} from one value to another: each takes one frame", unit=_SECOND
)
TIMES_ROUNDED = loss_type("TIMES_ROUNDED", _NEAR, "times were rounded by up to {seconds:.2g} s", unit=_SECOND)
FRAMES_FILLED = loss_type("FRAMES_FILLED", _NEAR, "now has a value for every frame")
FRAMES_KEPT = loss_type("FRAMES_KEPT", _EXACT, "{frames: frame} of {joints}")
FRAMES_SAMPLED = loss_type("FRAMES_SAMPLED", _BAKED, "{frames: frame} of {joints}, sampled from keys", "authored keys")
FRAMES_DIFFERENT = loss_type(
    "FRAMES_DIFFERENT",
    _NEAR,
    "{frames: frame} of {joints}, sampled from keys: {kind} differ between frames",
    "{kind} between frames",
)
MOTION_STILL = loss_type("MOTION_STILL", _EXACT, "does not move")
MOTION_CONVERTED = loss_type("MOTION_CONVERTED", _NEAR, "{count: key} became {keys}")
MOTION_SAMPLED = loss_type("MOTION_SAMPLED", _NEAR, "sampled at {count: frame}")
MOTION_SAMPLED_AIM = loss_type(
    "MOTION_SAMPLED_AIM",
    _BAKED,
    "sampled at {count: frame}, because the node is aimed at a target",
    "direction",
    unit=_DEGREE,
)
MOTION_INCOMPLETE = loss_type("MOTION_INCOMPLETE", _DROPPED, "incomplete motion: {reason}", "incomplete motion")
PROPERTY_SAMPLED = loss_type("PROPERTY_SAMPLED", _NEAR, "resampled{players}")
PROPERTY_TRACK_KEPT = loss_type("PROPERTY_TRACK_KEPT", _EXTRAS, "this format cannot animate this property")
TRACK_OVERRIDDEN = loss_type("TRACK_OVERRIDDEN", _DROPPED, "overridden by the target", None)
ROLL_BAKED = loss_type("ROLL_BAKED", _BAKED, "applied to the rotation", unit=_DEGREE)
ROLL_WITHOUT_TARGET = loss_type("ROLL_WITHOUT_TARGET", _DROPPED, "a roll has no effect without a target", None)
AIM_BAKED = loss_type("AIM_BAKED", _BAKED, "aimed by its rotation; the target is {target}", "aim", unit=_DEGREE)
AIM_KEPT = loss_type("AIM_KEPT", _EXACT, "a constraint aims it at the target")
AIM_BECAME_TARGET = loss_type("AIM_BECAME_TARGET", _NEAR, "its direction became a target", unit=_DEGREE)
AIM_BECAME_TARGET_AND_ROLL = loss_type(
    "AIM_BECAME_TARGET_AND_ROLL", _NEAR, "its orientation became a target and a roll", unit=_DEGREE
)
TARGET_ADDED = loss_type(
    "TARGET_ADDED", _BAKED, "a separate target was added at the node that this camera or light is aimed at", None
)
TARGET_FROM_VALUE = loss_type("TARGET_FROM_VALUE", _BAKED, "the stored target became a node", None)
TARGET_AT_REST = loss_type(
    "TARGET_AT_REST", _BAKED, "the light has no target: a target was added along its direction at rest", None
)
TARGET_HIDDEN = loss_type("TARGET_HIDDEN", _DROPPED, "targets cannot be hidden in this format", "hidden target")
POSITION_UNSUPPORTED = loss_type(
    "POSITION_UNSUPPORTED",
    _DROPPED,
    "only the first bone can change its position; the others can only rotate",
    unit=_LENGTH,
)
SCALE_UNSUPPORTED = loss_type("SCALE_UNSUPPORTED", _DROPPED, "joints cannot be scaled in this format", unit="1")
SCALE_APPLIED = loss_type(
    "SCALE_APPLIED", _BAKED, "the scale is applied to meshes and children (joints have no scale)", None
)
SCALE_AXES_UNIFORM = loss_type(
    "SCALE_AXES_UNIFORM", _DROPPED, "scale axes have no effect, because the scale is uniform", None
)
SCALE_AXES_ANIMATED = loss_type(
    "SCALE_AXES_ANIMATED", _DROPPED, "animated scale is always along the axes of the node", "scale axes"
)
SCALE_AXES_BELOW = loss_type(
    "SCALE_AXES_BELOW",
    _DROPPED,
    "nodes below that move or have no mesh are scaled along the axes of the node",
    "scale axes",
)
SCALE_AXES_TIMES = loss_type(
    "SCALE_AXES_TIMES", _DROPPED, "its keys are not at the times of the scale keys", "scale axes"
)
SCALE_AXES_OF_BONES = loss_type("SCALE_AXES_OF_BONES", _DROPPED, "bones are scaled along their own axes", "scale axes")
SHEAR_REMOVED = loss_type("SHEAR_REMOVED", _NEAR, "shear cannot be stored and is removed", "shear")
MIRROR_MOVED = loss_type("MIRROR_MOVED", _BAKED, "the mirroring was moved from the node to its mesh and children", None)

# Nodes

NAME_CHANGED = loss_type("NAME_CHANGED", _BAKED, "renamed to {name!r}{rule}", "names")
NAME_AFTER_OWNER = loss_type(
    "NAME_AFTER_OWNER", _BAKED, "an instance of {owner!r}, whose name comes before {instance!r}", "names"
)
NODE_UNSUPPORTED = loss_type("NODE_UNSUPPORTED", _DROPPED, "{nodes} cannot be stored in this format")
NODE_KIND_CHANGED = loss_type("NODE_KIND_CHANGED", _BAKED, "written as {kind}: {reason}", "kind")
NODE_PER_FRAME = loss_type("NODE_PER_FRAME", _BAKED, "{kind}: its matrix in each whole frame, without a parent", None)
NODE_NOT_IN_FRAMES = loss_type(
    "NODE_NOT_IN_FRAMES", _DROPPED, "{kind}: frames have objects with a mesh, lights and one view"
)
NODE_ORIGIN_LOST = loss_type(
    "NODE_ORIGIN_LOST", _DROPPED, "its origin: the matrices are those of the vertices as stored", None
)
NODE_HIDDEN_FRAMES = loss_type("NODE_HIDDEN_FRAMES", _DROPPED, "where it is in {count: hidden frame}", None)
VIEW_EXTRA = loss_type("VIEW_EXTRA", _DROPPED, "a frame has one view: that of the first camera", "camera")
VIEW_UNNAMED = loss_type("VIEW_UNNAMED", _NEAR, "a view has no name", None)
NODE_CONTENT_UNSUPPORTED = loss_type("NODE_CONTENT_UNSUPPORTED", _DROPPED, "the content of a {kind} is not exported")
NODE_INSTANCES = loss_type(
    "NODE_INSTANCES", _DROPPED, "instances are not written; make them real objects first", "instances"
)
NODE_HIDDEN = loss_type("NODE_HIDDEN", _EXACT, "scale 0 while hidden")
NODE_HIDDEN_SKIN = loss_type("NODE_HIDDEN_SKIN", _NEAR, "a skinned mesh cannot be hidden without KHR_node_visibility")
NODE_WITHOUT_GEOMETRY = loss_type("NODE_WITHOUT_GEOMETRY", _DROPPED, "the node has no geometry to hide", None)
NODE_AT_ROOT = loss_type(
    "NODE_AT_ROOT", _BAKED, "moved to the root, because the scale of its parent is uneven or changes", None
)
ROOT_ADDED = loss_type("ROOT_ADDED", _BAKED, "a root node was added: a file has one root", None)
PARENTS_WITHOUT_SKELETON = loss_type(
    "PARENTS_WITHOUT_SKELETON", _DROPPED, "names, offsets and parents of bones need a skeleton file", "the skeleton"
)
PIVOT_APPLIED = loss_type("PIVOT_APPLIED", _BAKED, "applied to the vertices", None)
BOUNDING_BOX_DROPPED = loss_type(
    "BOUNDING_BOX_DROPPED", _DROPPED, "new objects are written without a bounding box", None
)

# Meshes and skins

MESH_WRITTEN = loss_type("MESH_WRITTEN", _EXACT, "written")
MESH_ROUNDED = loss_type("MESH_ROUNDED", _NEAR, "rounded: {rounded}", "rounding", unit=_LENGTH)
MESH_AXES_REPLACED = loss_type("MESH_AXES_REPLACED", _BAKED, "the mesh axes were replaced by those of its node", None)
MESH_SPLIT = loss_type("MESH_SPLIT", _BAKED, "written as {pieces: mesh}: {reason}", None)
MESH_AT_ROOT = loss_type("MESH_AT_ROOT", _BAKED, "a mesh must be above its bones: it moved to the root", None)
MESH_MODIFIERS = loss_type(
    "MESH_MODIFIERS", _DROPPED, "not applied to a mesh with a skin or shape keys: {modifiers}", "modifiers"
)
MESH_LAYERS = loss_type("MESH_LAYERS", _DROPPED, "only the active one of {count: layer} is exported", "layers")
MESH_NORMALS_GROUPED = loss_type("MESH_NORMALS_GROUPED", _NEAR, "custom normals become smoothing groups", "normals")
NORMALS_BECAME_GROUPS = loss_type(
    "NORMALS_BECAME_GROUPS",
    _NEAR,
    "authored normals ({count: mesh}) became smoothing groups, which are up to {degrees:.2g} degrees away",
    "authored normals ({count: mesh}, up to {degrees:.2g} degrees)",
)
MESHES_NOT_REQUESTED = loss_type("MESHES_NOT_REQUESTED", _DROPPED, "no model was requested", "the model")
COLORS_FOR_DISPLAY = loss_type(
    "COLORS_FOR_DISPLAY", _NEAR, "as display colours: materials do not show them", "vertex colours"
)
FACES_TWO_SIDED = loss_type(
    "FACES_TWO_SIDED",
    _NEAR,
    "all faces are drawn from both sides, because those of one material are",
    "faces drawn from both sides",
)
MORPH_NORMALS = loss_type(
    "MORPH_NORMALS", _NEAR, "{count: blend shape}; its normals stay those of the mesh", "normals of morphs"
)
JOINT_SCALE_AXES = loss_type("JOINT_SCALE_AXES", _NEAR, "joints have no scale axes", "scale axes of joints")
JOINT_SCALE_HALF = loss_type("JOINT_SCALE_HALF", _NEAR, "in half precision", "scales of joints", unit="1")
SMOOTHING_AS_NORMALS = loss_type("SMOOTHING_AS_NORMALS", _BAKED, "smoothing groups became normals", None)
FACES_INVALID = loss_type("FACES_INVALID", _DROPPED, "{count: face} with invalid indices", "faces with invalid indices")
VERTICES_UNUSED = loss_type("VERTICES_UNUSED", _DROPPED, "{count: vertex} not used by any face", "unused vertices")
VERTICES_DUPLICATED = loss_type("VERTICES_DUPLICATED", _BAKED, "{count: vertex} added at texture seams", None)
MORPH_WRITTEN = loss_type("MORPH_WRITTEN", _EXACT, "{count: morph target}")
MORPH_BECAME_MESHES = loss_type(
    "MORPH_BECAME_MESHES", _NEAR, "the weights of {shapes: shape} became {meshes: mesh}", "morph"
)
MORPH_APPLIED = loss_type("MORPH_APPLIED", _BAKED, "the mesh has the shape that its weights give it", None)
MORPH_UNUSED = loss_type("MORPH_UNUSED", _DROPPED, "no track uses these shapes", "unused shapes")
MORPH_BLENDED = loss_type(
    "MORPH_BLENDED", _DROPPED, "blended shapes and shapes of split meshes cannot be stored", "morph"
)
MORPH_WEIGHTS = loss_type("MORPH_WEIGHTS", _DROPPED, "the weights do not match the written shapes", "morph")
SKIN_WRITTEN = loss_type("SKIN_WRITTEN", _EXACT, "written")
SKIN_WEIGHTS_LIMITED = loss_type(
    "SKIN_WEIGHTS_LIMITED", _NEAR, "{count: weight} dropped: at most {most} for each vertex", "weights"
)
SKIN_BIND_POSITIONS = loss_type(
    "SKIN_BIND_POSITIONS",
    _NEAR,
    "the bones of a vertex store different bind positions; one is written",
    "bind positions",
    unit=_LENGTH,
)
SKIN_BIND_POSES = loss_type(
    "SKIN_BIND_POSES",
    _NEAR,
    "meshes with different bind poses of one bone: that of the first is used",
    "bind poses",
    unit=_LENGTH,
)
SKIN_REST_POSE = loss_type(
    "SKIN_REST_POSE", _BAKED, "the skin is bound in the rest pose: this format stores no other", None, unit=_LENGTH
)
SKIN_BIND_POSE_AS_REST = loss_type(
    "SKIN_BIND_POSE_AS_REST",
    _BAKED,
    "bones rest in the pose in which the skin was bound, and tracks give the pose of the scene",
    "rest poses of bones",
    unit=_LENGTH,
)
SKIN_BENT = loss_type(
    "SKIN_BENT",
    _DROPPED,
    "several joints bend {bent} of {count: face}; each face is now attached to one joint",
    "bending",
    unit=_LENGTH,
)
SKIN_CUT = loss_type("SKIN_CUT", _BAKED, "cut into {count: rigid part}, each attached to one joint")
SKIN_ATTACHED = loss_type("SKIN_ATTACHED", _BAKED, "attached as a whole to one joint", None)

# Materials and images

MATERIAL_CONVERTED = loss_type("MATERIAL_CONVERTED", _NEAR, "as {model}", "look")
MATERIAL_UNMAPPED = loss_type(
    "MATERIAL_UNMAPPED", _NEAR, "meshes without texture coordinates show the material without its images", None
)
MATERIAL_FIELD_KEPT = loss_type("MATERIAL_FIELD_KEPT", _EXTRAS, "this format cannot express it: {shown}")
MATERIAL_LEVELS_LIMITED = loss_type("MATERIAL_LEVELS_LIMITED", _NEAR, "{levels}: limited to 0 to 1")
MATERIAL_MISSING = loss_type(
    "MATERIAL_MISSING",
    _NEAR,
    "{count: face} without a material: the first material of the object is used",
    "faces without a material",
)
MATERIAL_UNUSED = loss_type("MATERIAL_UNUSED", _DROPPED, "no mesh uses it", "")
MATERIAL_STILL_USED = loss_type("MATERIAL_STILL_USED", _DROPPED, "not removed: a mesh still uses it")
MATERIAL_WITHOUT_TEXTURE = loss_type(
    "MATERIAL_WITHOUT_TEXTURE", _DROPPED, "only a texture path is stored; this material has none"
)
MATERIAL_NAME_REPLACED = loss_type(
    "MATERIAL_NAME_REPLACED",
    _DROPPED,
    "the texture path {file!r} is stored instead of the material name",
    "names",
)
SHADING_UNSUPPORTED = loss_type(
    "SHADING_UNSUPPORTED", _DROPPED, "this format cannot store the shading {shading!r}", "shading"
)
SHADING_CONVERTED = loss_type("SHADING_CONVERTED", _NEAR, "{shown}", "shading")
FALLOFF_DIRECTION = loss_type(
    "FALLOFF_DIRECTION",
    _DROPPED,
    "the direction of a falloff is stored only for materials with a falloff",
    "direction of transparency",
)
SELF_ILLUMINATION_ROUNDED = loss_type(
    "SELF_ILLUMINATION_ROUNDED", _NEAR, "a surface is fully bright or not at all", "self-illumination"
)
MAP_UNSUPPORTED = loss_type("MAP_UNSUPPORTED", _DROPPED, "this format has no {slot} maps", "{slot} maps")
MAPS_LIMITED = loss_type("MAPS_LIMITED", _DROPPED, "a material has at most {most} images", "images beyond {most}")
MAP_AMOUNT = loss_type("MAP_AMOUNT", _DROPPED, "an image has no amount", "amounts")
MAP_WITHOUT_FILE = loss_type("MAP_WITHOUT_FILE", _EXTRAS, "the map has no file name", "maps without a file name")
MAP_KEPT = loss_type("MAP_KEPT", _EXTRAS, "{name}: not embedded{reason}; the name is kept", "image names")
MAP_BORDER = loss_type("MAP_BORDER", _NEAR, "outside the image its border pixels are repeated", "image borders")
MAP_MIRRORED = loss_type("MAP_MIRRORED", _NEAR, "the image repeats mirrored without end", "image borders")
MAP_FILTER_KEPT = loss_type("MAP_FILTER_KEPT", _EXTRAS, "players choose how images are filtered", "image filters")
MAP_TRANSFORM_KEPT = loss_type(
    "MAP_TRANSFORM_KEPT", _EXTRAS, "this format cannot offset, tile or rotate textures", "texture transforms"
)
IMAGE_EMBEDDED = loss_type("IMAGE_EMBEDDED", _EXACT, "{image}")
IMAGE_COMPUTED = loss_type("IMAGE_COMPUTED", _BAKED, "{image}", "images")
IMAGE_CHANGED = loss_type("IMAGE_CHANGED", _NEAR, "{image}", "images")
IMAGE_MISSING = loss_type("IMAGE_MISSING", _EXTRAS, "{image}; the name is kept", None)
IMAGE_NAMED = loss_type("IMAGE_NAMED", _EXACT, "{image}: the player supplies the image of this texture")
IMAGE_WRITTEN = loss_type("IMAGE_WRITTEN", _EXACT, "written as the file {file}{change}", "images")
IMAGE_REFUSED = loss_type("IMAGE_REFUSED", _DROPPED, "the image {image}: {reason}", "images")
IMAGE_UNSUPPORTED = loss_type("IMAGE_UNSUPPORTED", _DROPPED, "{image} cannot be stored in this material", "images")
IMAGE_NOT_OPENED = loss_type("IMAGE_NOT_OPENED", _DROPPED, "{reason}", "images")

# Cameras and lights

CAMERA_WRITTEN = loss_type("CAMERA_WRITTEN", _EXACT, "as the vertical field of view of a 4:3 picture")
CAMERA_PERSPECTIVE = loss_type("CAMERA_PERSPECTIVE", _DROPPED, "written as a perspective camera", "projection")
CAMERA_SHIFT = loss_type("CAMERA_SHIFT", _DROPPED, "lens shift cannot be stored", "lens shift")
CAMERA_CLIP_PLANES = loss_type("CAMERA_CLIP_PLANES", _DROPPED, "clip planes cannot be stored", "clip planes")
LIGHT_WRITTEN = loss_type("LIGHT_WRITTEN", _EXACT, "written")
LIGHT_KEPT = loss_type("LIGHT_KEPT", _EXTRAS, "this format has no {lights}")
LIGHT_TRACK_KEPT = loss_type("LIGHT_TRACK_KEPT", _EXTRAS, "{count: key}: this format has no ambient lights")
LIGHT_DIMMING = loss_type("LIGHT_DIMMING", _NEAR, "{difference}", "brightness")
LIGHT_NEGATIVE = loss_type(
    "LIGHT_NEGATIVE", _NEAR, "this format has no negative lights: {multiplier:g} becomes 0", "negative light"
)
LIGHT_CONE_LIMITED = loss_type("LIGHT_CONE_LIMITED", _NEAR, "a cone of {degrees:g} degrees: limited to 180", "cone")
LIGHT_HOTSPOT_NARROWED = loss_type(
    "LIGHT_HOTSPOT_NARROWED",
    _NEAR,
    "a bright cone of {degrees:g} degrees, wider than the outer one of {outer:g}: made narrower",
    "cone",
)
LIGHT_AS_SPOT = loss_type("LIGHT_AS_SPOT", _BAKED, "written as a spot light: this format has no {kind} lights", "kind")
LIGHT_RANGES_UNUSED = loss_type(
    "LIGHT_RANGES_UNUSED", _DROPPED, "ranges are stored only for lights with attenuation", "unused ranges"
)
LIGHT_AMBIENT = loss_type("LIGHT_AMBIENT", _DROPPED, "this format cannot store ambient light")

# Stage archives

MEMBERS_COPIED = loss_type("MEMBERS_COPIED", _EXACT, "{count: member} copied unchanged")
MODEL_WRITTEN = loss_type("MODEL_WRITTEN", _EXACT, "written as glTF")
MODEL_NOT_CONVERTED = loss_type("MODEL_NOT_CONVERTED", _DROPPED, "not converted, kept unchanged: {problem}")
MODEL_MOTION = loss_type("MODEL_MOTION", _DROPPED, "models of a fixture must not be animated", "motion")
