"""Compare the scene read from a merged document with the edited scene: fields, and world transforms of nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, Track, compile_track
from keyframer.curves.key_reduction import subframes
from keyframer.errors import FormatError
from keyframer.formats._matching import NODE_LINKS
from keyframer.formats._scene_differences import Comparison, Path, tracks_by_node_and_kind
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, CannotMerge, Tolerance
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span, scene_size
from keyframer.scene import NodeKind, Scene, Skin

_NEAR = Comparison(1e-5)
"""comparison with a tolerance for float32 numbers that were multiplied by a matrix and its inverse"""
_SAMPLED_TIMES = 97
"""number of times in the clip at which tracks are compared, in addition to times at and between keys"""
_PLACEMENT_ERROR = 1e-3
"""relative tolerance for world matrices: positions are relative to the largest coordinate or the scene's size, axes to
the largest number or 1, whichever is larger
"""


def misread_fields(intended: Scene, reread: Scene, new: Collection[int]) -> list[Path]:
    """Return the fields that were read back with another meaning, except those of ``new`` nodes and their parts."""
    exempt: set[Path] = {("nodes", number) for number in new}
    exempt |= {("clips", 0, "channels", number) for number in new}
    for name, kind in NODE_LINKS.items():
        exempt |= {(kind, getattr(intended.nodes[number], name)) for number in new}
    return [
        path
        for path in _NEAR.scenes(intended, reread)
        if path[:2] not in exempt and path[:4] not in exempt and not _is_equivalent(intended, reread, path)
    ]


def _is_equivalent(intended: Scene, reread: Scene, path: Path) -> bool:
    """Return whether the different values of a field in the two scenes mean the same."""
    match path:
        case ("meshes", int(number), "edges" | "face_materials" as name):
            default = 7 if name == "edges" else -1  # all edges, no material
            stored = getattr(reread.meshes[number], name)
            return getattr(intended.meshes[number], name) is None and bool((np.asarray(stored) == default).all())
        case ("nodes", int(number), "morph") | ("clips", 0, "channels", int(number), "morph"):
            expected, actual = (_shapes_by_key(scene, number) for scene in (intended, reread))
            return expected is not None and actual is not None and _NEAR.same(expected, actual)
        case ("clips", 0, "channels", int(number), str(kind)):
            return _repeats_rest_pose(intended, reread, number, kind) or _same_motion(intended, reread, number, kind)
        case ("skins", int(number), "joints" | "inverse_bind" | "joint_indices"):
            return _NEAR.same(*(_influences(scene.skins[number]) for scene in (intended, reread)))
    return False


def _track(scene: Scene, number: int, kind: str) -> Track | None:
    return (tracks_by_node_and_kind(scene.clips[0]) or {}).get((number, kind)) if scene.clips else None


def _same_motion(intended: Scene, reread: Scene, number: int, kind: str) -> bool:
    """Return whether a node has tracks of this kind in both scenes that give the same motion.

    Their keys may differ: a format may store rotations in another form, or linear keys as curves. Losses of keys are in
    the report.
    """
    expected, actual = (_track(scene, number, kind) for scene in (intended, reread))
    if expected is None or actual is None or not len(expected.times):
        return False
    key_times = np.unique(np.concatenate([expected.times, actual.times]))
    key_times = key_times[np.isfinite(key_times)]
    played = np.linspace(*clip_span(intended.clips[0]), _SAMPLED_TIMES)
    times = np.unique(np.concatenate([key_times, subframes(key_times, np.linspace(0, 1, 6)[1:-1]), played]))
    if expected.interpolation is Interpolation.STEP:
        times = np.setdiff1d(times, key_times)  # at a jump either value is accepted
    allowed, distance, _ = Tolerance.of(intended, DEFAULT_MAX_ERROR).for_track(expected)
    expected_values, actual_values = (
        compile_track(track)(times).reshape(len(times), -1) for track in (expected, actual)
    )
    if expected_values.shape != actual_values.shape:
        return False
    return bool((distance(expected_values, actual_values) <= allowed).all())


def _influences(skin: Skin) -> list[object]:
    """Return columns with the vertex, joint node and inverse bind matrix of each influence, for any order of joints."""
    chosen = np.asarray(skin.joint_indices, np.int64)
    return [skin.vertex_indices, np.asarray(skin.joints, np.int64)[chosen], np.asarray(skin.inverse_bind)[chosen]]


def _shapes_by_key(scene: Scene, number: int) -> list[object] | None:
    """Return the columns of a node's morph track, with the name and vertices of a shape instead of weights.

    The result is None without a morph track, or if a key blends shapes.
    """
    morph, track = scene.nodes[number].morph, _track(scene, number, "morph")
    if morph is None or track is None:
        return None
    weights = track.values.reshape(len(track.times), -1)
    chosen = weights.argmax(axis=1)
    if weights.shape[1] != len(morph.names) or not np.array_equal(weights, np.eye(weights.shape[1])[chosen]):
        return None
    shapes = [[morph.names[place], np.asarray(morph.positions[place])] for place in chosen.tolist()]
    columns = [getattr(track, name) for name in ("tension", "continuity", "bias", "ease_to", "ease_from")]
    zeros = np.zeros(len(track.times))
    return [track.times, track.wrap, shapes, *(zeros if column is None else column for column in columns)]


_REST_FIELDS = {"position": "position", "rotation": "rotation_xyzw", "scale": "scale", "visible": "hidden"}
"""fields of a node that tracks override, by the kind of track"""


def is_overridden(scene: Scene, path: Path) -> bool:
    """Return whether another part overrides a field.

    A track overrides the rest transform or visibility of its node, the name of a node that of its mesh, camera, light
    and skin, and the name of a camera or light that of its target. The axes of a mesh follow from its node.
    """
    match path:
        case ("meshes" | "cameras" | "lights" | "skins", _, "name" | "axes"):
            return True
        case ("nodes", int(number), "name"):  # a target has the name of its camera or light
            return scene.nodes[number].kind is NodeKind.TARGET
    return overriding_track(scene, path) is not None


def overriding_track(scene: Scene, path: Path) -> str | None:
    """Return the kind of the track that overrides a field of a node; None if there is none."""
    match path:
        case ("nodes", int(number), str(name)):
            kinds = (kind for kind, field in _REST_FIELDS.items() if field == name)
            return next((kind for kind in kinds if _track(scene, number, kind) is not None), None)
    return None


def _repeats_rest_pose(intended: Scene, reread: Scene, number: int, kind: str) -> bool:
    """Return whether a track was added that only stores the rest transform, as some formats do.

    It has one key, and the rest transform was read back unchanged.
    """
    track, name = _track(reread, number, kind), _REST_FIELDS.get(kind)
    is_new = track is not None and _track(intended, number, kind) is None
    if name is None or kind == "visible" or track is None or not is_new or len(track.times) != 1:
        return False
    return _NEAR.same(*(np.asarray(getattr(scene.nodes[number], name)) for scene in (intended, reread)))


def displaced(intended: Scene, reread: Scene, places: Mapping[int, int]) -> set[int]:
    """Return the nodes whose world transform is not as intended at one of five times in the clip.

    ``places`` maps node numbers in ``intended`` to those in ``reread``.
    """
    clip = intended.clips[0] if intended.clips else None
    times = np.linspace(*clip_span(clip), 5) if clip is not None else np.zeros(1)
    numbers = sorted(places)
    expected = _world(intended, times)[:, numbers]
    actual = _world(reread, times)[:, [places[number] for number in numbers]]
    allowed = np.full((4, 4), _PLACEMENT_ERROR) * max(1.0, float(np.abs(expected[..., :3, :3]).max(initial=0.0)))
    allowed[:3, 3] = _PLACEMENT_ERROR * max(scene_size(intended), float(np.abs(expected[..., :3, 3]).max(initial=0.0)))
    wrong = ~(np.abs(expected - actual) <= allowed).all(axis=(0, 2, 3)) & np.isfinite(expected).all(axis=(0, 2, 3))
    return {numbers[index] for index in np.flatnonzero(wrong).tolist()}


def _world(scene: Scene, times: Floats) -> Floats:
    rig = Rig(scene)
    return rig.world(rig.sample(times), len(times))


def read_again(merged: Document, options: Mapping[str, object]) -> tuple[bytes, Document, Scene]:
    """Return the bytes of a document, and the document and scene that are read from them.

    Raises `CannotMerge` if the bytes cannot be read safely, or would be detected as another dialect.
    """
    format = merged.format
    try:
        data = format.encode(merged)
        document = format.decode(data, merged.limits)
    except (FormatError, ValueError) as error:
        raise CannotMerge(f"the result would not be readable: {error}") from None
    if document.dialect != merged.dialect:
        raise CannotMerge(f"readers would detect the result as {document.dialect}")
    scene = format.to_scene(document, options)
    for issues in (document.issues, scene.issues):
        unsafe = issues.first_unsafe()
        if unsafe is not None:
            raise CannotMerge(f"the result would not be valid: {unsafe.code} in {unsafe.path}")
    return data, document, scene
