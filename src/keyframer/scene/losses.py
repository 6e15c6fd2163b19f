"""Every type of loss, in one place: what a conversion can do to a part of a scene. Codes and cases never change; words
may.

A sentence says what happened, in words that suit every format ("this format"). The noun of a summary says what looks
or moves differently; without one, it is made from the path. In a template, ``{count: key}`` is a number with its noun.
A type has cases where one loss has several reasons, each with its own sentence: before adding a type, look for one that
fits, and add a case to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from keyframer.scene.loss_report import LossType, Outcome

LOSSES: dict[str, dict[str, LossType]] = {}
"""by code and case; a type without cases has one, which is empty"""

Words = str | tuple[str, str | None] | tuple[str, str | None, str]
"""the sentence of a case, the noun of summaries if it differs from that of the type, and advice"""


def loss_type(
    code: str,
    outcome: Outcome,
    template: str,
    summary: str | None = "",
    *,
    advice: str = "",
    unit: str | None = None,
) -> LossType:
    """Declare a type of loss with one sentence; each code can be declared once."""
    return loss_cases(code, outcome, {"": (template, summary, advice)}, unit=unit)[""]


def loss_cases(
    code: str,
    outcome: Outcome,
    cases: Mapping[str, Words],
    summary: str | None = "",
    *,
    unit: str | None = None,
) -> dict[str, LossType]:
    """Declare a type of loss with a sentence for each case; ``summary`` is the usual noun."""
    if code in LOSSES:
        raise ValueError(f"loss code {code} is declared twice")
    kinds = {}
    for case, words in cases.items():
        template, noun, *advice = (words, summary) if isinstance(words, str) else words
        kinds[case] = LossType(code, outcome, template, noun, advice[0] if advice else "", unit, case)
    LOSSES[code] = kinds
    return kinds


_EXACT, _NEAR, _BAKED = Outcome.EXACT, Outcome.APPROXIMATED, Outcome.BAKED
_EXTRAS, _DROPPED = Outcome.EXTRAS, Outcome.DROPPED
_LENGTH, _DEGREE, _SECOND = "scene unit", "degree", "second"

# What a format cannot store

_WHAT = "{target} cannot store {what}"
"""the sentence of features, which are found from what a format declares (`formats.kit.unsupported_features`)"""


def _features(*names: str, summary: str | None = "{what}") -> dict[str, Words]:
    return dict.fromkeys(names, (_WHAT, summary))


NODES_UNSUPPORTED = loss_cases(
    "NODES_UNSUPPORTED",
    _DROPPED,
    _features("parents", "hidden nodes", "dummies")
    | {
        "kind": "{nodes} cannot be stored in this format",
        "content": "the content of a {kind} is not exported",
        "instances": ("instances are not written; make them real objects first", "instances"),
        "frames": "{kind}: frames have objects with a mesh, lights and one view",
        "second view": ("a frame has one view: that of the first camera", "camera"),
        "skeleton": ("names, offsets and parents of bones need a skeleton file", "the skeleton"),
    },
)
MESHES_UNSUPPORTED = loss_cases(
    "MESHES_UNSUPPORTED",
    _DROPPED,
    _features("meshes", "unused meshes") | {"not requested": ("no model was requested", "the model")},
)
VERTEX_DATA_UNSUPPORTED = loss_cases(
    "VERTEX_DATA_UNSUPPORTED",
    _DROPPED,
    _features("smoothing", "vertex colours", "vertex alpha", "second coordinates", "normals")
    | {"layers": ("only the active one of {count: layer} is exported", "layers")},
)
SKINS_UNSUPPORTED = loss_cases(
    "SKINS_UNSUPPORTED",
    _DROPPED,
    _features("skins")
    | {"bending": ("several joints bend {bent} of {count: face}; each face is now attached to one joint", "bending")},
    unit=_LENGTH,
)
MORPHS_UNSUPPORTED = loss_cases(
    "MORPHS_UNSUPPORTED",
    _DROPPED,
    _features("morphs")
    | {
        "unused": ("no track uses these shapes", "unused shapes"),
        "blended": "blended shapes and shapes of split meshes cannot be stored",
        "weights": "the weights do not match the written shapes",
    },
    "morph",
)
MATERIALS_UNSUPPORTED = loss_cases(
    "MATERIALS_UNSUPPORTED",
    _DROPPED,
    _features("materials")
    | {"unused": "no mesh uses it", "without texture": "only a texture path is stored; this material has none"},
)
TEXTURES_UNSUPPORTED = loss_cases(
    "TEXTURES_UNSUPPORTED",
    _DROPPED,
    _features("textures", "other maps")
    | {
        "slot": ("this format has no {slot} maps", "{slot} maps"),
        "number": ("a material has at most {most} images", "images beyond {most}"),
        "amount": ("an image has no amount", "amounts"),
    },
)
CAMERAS_UNSUPPORTED = loss_cases("CAMERAS_UNSUPPORTED", _DROPPED, _features("cameras", "unused cameras"))
LIGHTS_UNSUPPORTED = loss_cases(
    "LIGHTS_UNSUPPORTED",
    _DROPPED,
    _features("lights", "unused lights") | {"ambient": "this format cannot store ambient light"},
)
ENVIRONMENT_UNSUPPORTED = loss_cases(
    "ENVIRONMENT_UNSUPPORTED",
    _DROPPED,
    _features("environment")
    | {
        "uses": (
            "this format cannot store which parts of the environment are in use, except for the background colour",
            "which parts of the environment are in use",
        ),
        "unused background": (
            "this format stores the background colour only if it is in use",
            "the background colour, which is not in use",
        ),
    },
)
METADATA_UNSUPPORTED = loss_cases(
    "METADATA_UNSUPPORTED",
    _DROPPED,
    _features("title", "author", "copyright")
    | {
        "copyright elsewhere": ("the copyright can be stored only as part of the author text", "the copyright"),
        "clip name": ("the format stores one name for the scene and its clip: the title", None),
    },
)
MOTION_UNSUPPORTED = loss_cases(
    "MOTION_UNSUPPORTED",
    _DROPPED,
    _features("raw channels", "tracks")
    | {
        "raw frames": ("{count: frame}, but the clip has {frames}", "numbers of unknown meaning"),
        "position": "only the first bone can change its position; the others can only rotate",
        "scale": "joints cannot be scaled in this format",
        "model": ("models of a fixture must not be animated", "motion"),
    },
)
SCALE_AXES_UNSUPPORTED = loss_cases(
    "SCALE_AXES_UNSUPPORTED",
    _DROPPED,
    _features("scale axes")
    | {
        "animated": "animated scale is always along the axes of the node",
        "below": "nodes below that move or have no mesh are scaled along the axes of the node",
        "times": "its keys are not at the times of the scale keys",
        "bones": "bones are scaled along their own axes",
        "joints": ("joints have no scale axes", "scale axes of joints"),
        "shear": ("shear cannot be stored and is removed", "shear"),
    },
    "scale axes",
)
FIELD_UNSUPPORTED = loss_cases(
    "FIELD_UNSUPPORTED",
    _DROPPED,
    _features("cast shadows", "received shadows")
    | {
        "field": ("{target} cannot store '{field}' of {parts}", "{field} of {parts}"),
        "value": _WHAT,
        "dialect": ("this dialect cannot store {what}", "{what}"),
        "falloff direction": (
            "the direction of a falloff is stored only for materials with a falloff",
            "direction of transparency",
        ),
        "light ranges": ("ranges are stored only for lights with attenuation", "unused ranges"),
        "hidden target": ("targets cannot be hidden in this format", "hidden target"),
        "modifiers": ("not applied to a mesh with a skin or shape keys: {modifiers}", "modifiers"),
    },
)
DETAIL_UNSUPPORTED = loss_cases(
    "DETAIL_UNSUPPORTED",
    _DROPPED,
    _features("pivots", "bounds", summary=None)
    | {
        "field": "{target} cannot store '{field}' of {parts}",
        "bounding box": "new objects are written without a bounding box",
        "origin": "its origin: the matrices are those of the vertices as stored",
        "hidden frames": "where it is in {count: hidden frame}",
    },
    None,
)
"""what changes nothing that is shown"""
EXTRAS_UNSUPPORTED = loss_type(
    "EXTRAS_UNSUPPORTED", _DROPPED, "{target} cannot store '{field}' of {parts}, which the file has", None
)
NAMES_UNSUPPORTED = loss_cases(
    "NAMES_UNSUPPORTED",
    _DROPPED,
    {
        "parts": ("{target} {rule}: the {names} of {parts} {lost} lost", None),
        "material": ("the texture path {file!r} is stored instead of the material name", "names"),
    },
)
CLIPS_UNSUPPORTED = loss_cases(
    "CLIPS_UNSUPPORTED",
    _DROPPED,
    {
        "second": ("this format can store only one clip", "", "--clip NAME, once for each clip"),
        "not playing": ("only the clip that is playing is exported", "", "play this clip, and export again"),
    },
)
IMAGES_UNSUPPORTED = loss_cases(
    "IMAGES_UNSUPPORTED",
    _DROPPED,
    {
        "refused": "the image {image}: {reason}",
        "material": "{image} cannot be stored in this material",
        "not opened": "{reason}",
    },
    "images",
)
FEATURES_UNSUPPORTED = {
    case: kind
    for kinds in LOSSES.values()
    for case, kind in kinds.items()
    if kind.template == _WHAT and case not in ("value", "tracks")
}
"""by feature of a scene"""
READER_OPTION_NEEDED = loss_type(
    "READER_OPTION_NEEDED",
    _DROPPED,
    "readers need the option {name}={value}, which the file does not store",
    "the option {name}={value}, which readers need",
)

# What is kept in extras

FIELD_KEPT = loss_cases(
    "FIELD_KEPT",
    _EXTRAS,
    {
        "field": "this format has no place for it",
        "value": "this format cannot express it: {shown}",
        "track": "this format cannot animate this property",
        "ambient track": "{count: key}: this format has no ambient lights",
        "bounds": ("bounding boxes of the frames", None),
        "raw channel": ("numbers of unknown meaning", "numbers of unknown meaning"),
        "segment": ("the file plays frames {played}", "the active segment", "--cut active writes only these"),
        "image filter": ("players choose how images are filtered", "image filters"),
        "texture transform": ("this format cannot offset, tile or rotate textures", "texture transforms"),
    },
)
LIGHTS_KEPT = loss_type("LIGHTS_KEPT", _EXTRAS, "this format has no {lights}")
IMAGES_KEPT = loss_cases(
    "IMAGES_KEPT",
    _EXTRAS,
    {
        "name": ("{name}: not embedded{reason}; the name is kept", "image names"),
        "without file": ("the map has no file name", "maps without a file name"),
    },
)
IMAGE_MISSING = loss_type("IMAGE_MISSING", _EXTRAS, "{image}; the name is kept", None)
EXTRAS_KEPT = loss_cases(
    "EXTRAS_KEPT",
    _EXTRAS,
    {"part": "'{field}' of {parts}, which the file has", "scene": "data that the scene model cannot store"},
    None,
)
SCENE_EMPTY = loss_type(
    "SCENE_EMPTY", _EXTRAS, "the file has nothing to show: no objects and no materials", "all content"
)

# Reading and editing in place

READING_LEFT_OUT = loss_cases(
    "READING_LEFT_OUT",
    _DROPPED,
    {
        "problem": ("left out while reading: {problem}", "{problem}"),
        "salvage": ("left out by salvage: {problem}", "damaged parts"),
    },
)
LINK_INVALID = loss_type("LINK_INVALID", _DROPPED, "{problem}", "link")
ORIGINAL_UNCHANGED = loss_type("ORIGINAL_UNCHANGED", _EXACT, "no changes: the original was written unmodified")
ORIGINAL_REWRITTEN = loss_type(
    "ORIGINAL_REWRITTEN",
    _BAKED,
    "the original could not be edited in place ({reason}): a new file was written",
    "a new file, because {reason}",
)
ORIGINAL_DATA_LOST = loss_cases(
    "ORIGINAL_DATA_LOST",
    _DROPPED,
    {
        "bytes": ("{count: unknown byte} of the original", "unknown bytes of the original"),
        "more bytes": ("{count: more unknown byte} in {places: place}", None),
        "records": ("records of the original that the new file does not have: {records}", "records of the original"),
        "removed": ("removed with {count: unknown record} inside it", "unknown records of removed nodes"),
    },
)
EDIT_WRITTEN = loss_cases(
    "EDIT_WRITTEN",
    _EXACT,
    {
        "changed": "written into the original document",
        "added": "added to the original",
        "replaced": "replaced in the original",
        "removed": "removed from the original",
    },
)
EDIT_NOT_STORED = loss_cases(
    "EDIT_NOT_STORED",
    _DROPPED,
    {
        "unsupported": "the format cannot store it, or other parts of the scene override it",
        "overridden": (
            "the {kind} track of the node overrides it",
            "",
            "change the keys of the track, or remove its channel",
        ),
        "kind": ("{what} changed, which is not written into the original", "", "export a new file"),
        "still used": "not removed: a mesh still uses it",
    },
)
SOURCE_EMBEDDED = loss_type(
    "SOURCE_EMBEDDED", _EXACT, "{name} is embedded, and read back as long as the content stays the same"
)

# Space, rate and clips

AXES_TURNED = loss_type(
    "AXES_TURNED", _BAKED, "the axes of the scene and of its nodes were turned: {given} became {written}", None
)
LENGTHS_CONVERTED = loss_cases(
    "LENGTHS_CONVERTED",
    _BAKED,
    {
        "scaled": ("all lengths were multiplied by {factor:g}; {kept}", "lengths, now times {factor:g}"),
        "not scaled": ("lengths are written without conversion: {reason}", None),
        "other unit": (
            "a unit is {metres:g} m in the file and {kept:g} m in the Blender scene; the numbers were kept",
            "the unit of the file",
        ),
        "unit taken": "a unit of the Blender scene is now {metres:g} m",
    },
)
CLIP_SECTION = loss_type(
    "CLIP_SECTION", _EXACT, "{begin:.4g} to {end:.4g} seconds of the only animation: the frame range of a player"
)
CLIP_RANGE_CHANGED = loss_cases(
    "CLIP_RANGE_CHANGED",
    _NEAR,
    {
        "cut": (
            "the clip has frames {begin:g} to {end:g}: frames {first:g} to {last:g} were kept",
            "the frames that were asked for",
        ),
        "start": ("frames begin at 0: all times are later by {seconds:g} s", "all times, later by {seconds:.2g} s"),
        "end": ("the animation ends at frame {last}", "the end of the clip"),
        "segment": ("the active segment became {unit_name} {first:g} to {last:g}", "the active segment"),
        "current": ("the current frame became {frame}", None),
    },
)
CLIP_RANGE_UNSUPPORTED = loss_cases(
    "CLIP_RANGE_UNSUPPORTED",
    _DROPPED,
    {
        "start": ("an animation starts at frame 0", "the first frame of the clip"),
        "end": ("the format plays all frames: the clip ends at its last key, frame {last:g}", "the end of the clip"),
        "segment": (
            "{target} has no active segment: {first:g} to {last:g} is played instead of {begin:g} to {end:g}",
            "the active segment",
        ),
    },
)
RATE_CHANGED = loss_cases(
    "RATE_CHANGED",
    _NEAR,
    {
        "sampled": "sampled at {fps:g} frames per second; the clip has {clip_fps:g}",
        "rounded": "the frame rate became {fps}; the clip has {clip_fps:g}",
    },
    "the frame rate",
)
RATE_UNSUPPORTED = loss_cases(
    "RATE_UNSUPPORTED",
    _DROPPED,
    {
        "none": "the format has no frame rate: written for {fps:g} frames per second, the clip has {clip_fps:g}",
        "kept": "the file keeps its {fps:g} frames per second, the clip has {clip_fps:g}: "
        "keys keep their times in seconds",
    },
    "the frame rate",
)
BOUNDS_RECOMPUTED = loss_type("BOUNDS_RECOMPUTED", _BAKED, "bounding boxes were recomputed", None)
RAW_CHANNEL_LENGTH = loss_type(
    "RAW_CHANNEL_LENGTH", _NEAR, "{count: frame} became {frames}, as many as the clip has", "numbers of unknown meaning"
)

# Motion

MOTION_WRITTEN = loss_cases(
    "MOTION_WRITTEN",
    _EXACT,
    {
        "keys": "{keys}",
        "frames": "{frames: frame} of {joints}",
        "still": "does not move",
        "hidden": "scale 0 while hidden",
        "aim": "a constraint aims it at the target",
    },
)
NUMBERS_UNUSABLE = loss_cases(
    "NUMBERS_UNUSABLE",
    _DROPPED,
    {
        "keys": ("non-finite numbers in {unusable} of {count: key}", "non-finite numbers"),
        "values": (
            "{count: number} not finite or too large for single precision",
            "numbers that are not finite or too large",
        ),
    },
)
KEYS_LEFT_OUT = loss_cases(
    "KEYS_LEFT_OUT",
    _DROPPED,
    {
        "out of range": "this format cannot store the times of {outside} of {count: key}",
        "too late": "keys after frame {last:,.0f} are ignored",
        "after the end": ("keys after {end:g} (up to {last:g}) are not written", "keys after the end of the clip"),
    },
    "late keys",
)
KEYS_RESAMPLED = loss_cases(
    "KEYS_RESAMPLED",
    _BAKED,
    {
        "tracks": (
            "the authored keys of {count: track} became sampled ones",
            "authored keys",
            "--embed-source keeps them",
        ),
        "frames": "{frames: frame} of {joints}, sampled from keys",
        "sampled": ("sampled: {keys}", ""),
    },
    "authored keys",
)
KEYS_CONVERTED = loss_cases(
    "KEYS_CONVERTED",
    _NEAR,
    {
        "other keys": "{count: key} became {keys}",
        "fitted": "fitted: {keys}",
        "frames": "{frames: frame} became {keys}",
        "between frames": "keys between frames: written as {keys}",
        "tangents": "keys with tangents cannot be stored in this format: written as {keys}",
        "kind": "{kind} keys cannot be stored in this format: written as {keys}",
        "ease": "ease cannot be stored in this format: written as {keys}",
        "full turns": "turns of 360 degrees or more cannot be stored in this format: written as {keys}",
        "half turns": "turns of 180 degrees or more cannot be stored in this format: written as {keys}",
        "wrap": "tracks with the wrap '{wrap}' cannot be stored in this format: written as {keys}",
        "wrap between frames": "a {wrap} cannot begin again between frames: written as {keys}",
    },
)
MOTION_SAMPLED = loss_cases(
    "MOTION_SAMPLED",
    _NEAR,
    {
        "track": "sampled at {count: frame}",
        "property": "resampled{players}",
        "filled": "now has a value for every frame",
        "frames": (
            "{frames: frame} of {joints}, sampled from keys: {kind} differ between frames",
            "{kind} between frames",
        ),
        "too many frames": (
            "too many frames for one key per frame; the allowed error determines the keys",
            "one key per frame",
        ),
    },
)
TIMES_ROUNDED = loss_cases(
    "TIMES_ROUNDED",
    _NEAR,
    {
        "keys": "times were rounded by up to {seconds:.2g} s",
        "steps": "steps were moved to the next frame, by up to {seconds:.2g} s",
        "jumps": "{count: jump} from one value to another: each takes one frame",
    },
    unit=_SECOND,
)
MOTION_INCOMPLETE = loss_type("MOTION_INCOMPLETE", _DROPPED, "incomplete motion: {reason}", "incomplete motion")
TRACK_WITHOUT_EFFECT = loss_cases(
    "TRACK_WITHOUT_EFFECT",
    _DROPPED,
    {
        "aimed": "overridden by the target",
        "roll": "a roll has no effect without a target",
        "no geometry": "the node has no geometry to hide",
        "uniform scale": "scale axes have no effect, because the scale is uniform",
    },
    None,
)
AIM_BAKED = loss_cases(
    "AIM_BAKED",
    _BAKED,
    {
        "rotation": ("aimed by its rotation; the target is {target}", "aim"),
        "frames": ("sampled at {count: frame}, because the node is aimed at a target", "direction"),
        "roll": "applied to the rotation",
    },
    unit=_DEGREE,
)
AIM_CONVERTED = loss_cases(
    "AIM_CONVERTED",
    _NEAR,
    {"target": "its direction became a target", "target and roll": "its orientation became a target and a roll"},
    unit=_DEGREE,
)

# Nodes

NODE_ADDED = loss_cases(
    "NODE_ADDED",
    _BAKED,
    {
        "root": "a root node was added: a file has one root",
        "target": "a separate target was added at the node that this camera or light is aimed at",
        "stored target": "the stored target became a node",
        "target at rest": "the light has no target: a target was added along its direction at rest",
    },
    None,
)
TRANSFORM_APPLIED = loss_cases(
    "TRANSFORM_APPLIED",
    _BAKED,
    {
        "pivot": "applied to the vertices",
        "scale": "the scale is applied to meshes and children (joints have no scale)",
        "mirror": "the mirroring was moved from the node to its mesh and children",
        "mesh axes": "the mesh axes were replaced by those of its node",
        "mesh at root": "a mesh must be above its bones: it moved to the root",
        "node at root": "moved to the root, because the scale of its parent is uneven or changes",
        "frames": "{kind}: its matrix in each whole frame, without a parent",
    },
    None,
)
NAME_CHANGED = loss_cases(
    "NAME_CHANGED",
    _BAKED,
    {
        "rule": "renamed to {name!r}{rule}",
        "instance": "an instance of {owner!r}, whose name comes before {instance!r}",
        "view": ("a view has no name", None),
    },
    "names",
)
KIND_CHANGED = loss_cases(
    "KIND_CHANGED",
    _BAKED,
    {
        "reason": "written as {kind}: {reason}",
        "light": "written as a spot light: this format has no {lights} lights",
        "projection": ("written as a perspective camera", "projection"),
    },
    "kind",
)
HIDING_LIMITED = loss_type("HIDING_LIMITED", _NEAR, "a skinned mesh cannot be hidden without KHR_node_visibility")
PART_WRITTEN = loss_cases(
    "PART_WRITTEN",
    _EXACT,
    {
        "part": "written",
        "camera": "as the vertical field of view of a 4:3 picture",
        "morph": "{count: morph target}",
        "model": "written as glTF",
        "members": "{count: member} copied unchanged",
    },
)
MODEL_NOT_CONVERTED = loss_type("MODEL_NOT_CONVERTED", _DROPPED, "not converted, kept unchanged: {problem}")

# Meshes and skins

GEOMETRY_LEFT_OUT = loss_cases(
    "GEOMETRY_LEFT_OUT",
    _DROPPED,
    {
        "faces": ("{count: face} with invalid indices", "faces with invalid indices"),
        "vertices": ("{count: vertex} not used by any face", "unused vertices"),
    },
)
VALUES_ROUNDED = loss_cases(
    "VALUES_ROUNDED",
    _NEAR,
    {"mesh": ("rounded: {rounded}", "rounding"), "half precision": ("in half precision", "scales of joints")},
    unit=_LENGTH,
)
MESH_SPLIT = loss_cases(
    "MESH_SPLIT",
    _BAKED,
    {
        "pieces": "written as {pieces: mesh}: {reason}",
        "seams": "{count: vertex} added at texture seams",
        "rigid parts": ("cut into {count: rigid part}, each attached to one joint", ""),
        "one joint": "attached as a whole to one joint",
    },
    None,
)
NORMALS_CHANGED = loss_cases(
    "NORMALS_CHANGED",
    _NEAR,
    {
        "groups": "custom normals become smoothing groups",
        "measured groups": (
            "authored normals ({count: mesh}) became smoothing groups, which are up to {degrees:.2g} degrees away",
            "authored normals ({count: mesh}, up to {degrees:.2g} degrees)",
        ),
        "morph": ("{count: blend shape}; its normals stay those of the mesh", "normals of morphs"),
        "smoothing": ("smoothing groups became normals", None),
    },
    "normals",
)
MORPH_CONVERTED = loss_cases(
    "MORPH_CONVERTED",
    _BAKED,
    {
        "meshes": ("the weights of {shapes: shape} became {meshes: mesh}", "morph"),
        "applied": ("the mesh has the shape that its weights give it", None),
    },
)
SKIN_CHANGED = loss_cases(
    "SKIN_CHANGED",
    _NEAR,
    {
        "weights": ("{count: weight} dropped: at most {most} for each vertex", "weights"),
        "bind positions": ("the bones of a vertex store different bind positions; one is written", "bind positions"),
        "bind poses": ("meshes with different bind poses of one bone: that of the first is used", "bind poses"),
        "rest pose": ("the skin is bound in the rest pose: this format stores no other", None),
        "bind pose as rest": (
            "bones rest in the pose in which the skin was bound, and tracks give the pose of the scene",
            "rest poses of bones",
        ),
    },
    unit=_LENGTH,
)

# Materials and images

MATERIAL_CONVERTED = loss_cases(
    "MATERIAL_CONVERTED",
    _NEAR,
    {
        "model": ("as {model}", "look"),
        "shading": ("{shown}", "shading"),
        "levels": "{levels}: limited to 0 to 1",
        "self-illumination": ("a surface is fully bright or not at all", "self-illumination"),
        "no coordinates": ("meshes without texture coordinates show the material without its images", None),
        "no material": (
            "{count: face} without a material: the first material of the object is used",
            "faces without a material",
        ),
        "two-sided": (
            "all faces are drawn from both sides, because those of one material are",
            "faces drawn from both sides",
        ),
        "vertex colours": ("as display colours: materials do not show them", "vertex colours"),
    },
)
IMAGE_BORDERS = loss_cases(
    "IMAGE_BORDERS",
    _NEAR,
    {
        "repeated": "outside the image its border pixels are repeated",
        "mirrored": "the image repeats mirrored without end",
    },
    "image borders",
)
IMAGE_WRITTEN = loss_cases(
    "IMAGE_WRITTEN",
    _EXACT,
    {
        "embedded": "{image}",
        "named": "{image}: the player supplies the image of this texture",
        "file": "written as the file {file}{change}",
    },
    "images",
)
IMAGE_COMPUTED = loss_type("IMAGE_COMPUTED", _BAKED, "{image}", "images")
IMAGE_CHANGED = loss_type("IMAGE_CHANGED", _NEAR, "{image}", "images")

# Lights

LIGHT_CHANGED = loss_cases(
    "LIGHT_CHANGED",
    _NEAR,
    {
        "dimming": ("{difference}", "brightness"),
        "negative": ("this format has no negative lights: {multiplier:g} becomes 0", "negative light"),
        "cone": "a cone of {degrees:g} degrees: limited to 180",
        "bright cone": "a bright cone of {degrees:g} degrees, wider than the outer one of {outer:g}: made narrower",
    },
    "cone",
)
