"""Report what a format cannot store: one line for each kind of data in the scene.

Kinds with a special message are in `_present`. All other fields are found from the dataclasses of the model, so that a
new field is reported as dropped until a format declares that it stores it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

import numpy as np

from keyframer.curves.lazy_fields import Lazy, extras_without_keeping
from keyframer.formats import properties_of
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import (
    Camera,
    Clip,
    Environment,
    Light,
    Material,
    Mesh,
    Node,
    NodeKind,
    Scene,
    TextureMap,
)
from keyframer.scene.loss_report import FIELD_WORDS, LossReport, LossType
from keyframer.scene.losses import (
    CLIP_RANGE_UNSUPPORTED,
    DETAIL_UNSUPPORTED,
    EXTRAS_UNSUPPORTED,
    FEATURES_UNSUPPORTED,
    FIELD_UNSUPPORTED,
    MOTION_UNSUPPORTED,
    NAMES_UNSUPPORTED,
)
from keyframer.scene.mesh import CORNER_TABLES
from keyframer.text import counted

MOTION = ("position", "rotation", "scale")
"""kinds of channels that move a node"""


_INSIDE = {
    "skins": "meshes",
    "morphs": "meshes",
    "smoothing": "meshes",
    "vertex colours": "meshes",
    "vertex alpha": "vertex colours",
    "second coordinates": "meshes",
    "normals": "meshes",
    "cast shadows": "meshes",
    "received shadows": "meshes",
    "textures": "materials",
    "other maps": "textures",
}
"""features that are part of another feature: they are reported only if the format stores that one"""
_FIELDS_INSIDE = {"maps": "textures", "nodes": None, "clips": None}
"""the feature that a format must store before fields of a part are reported (None: always); for other parts this is the
feature with the name of the part
"""

_REPORTED_ELSEWHERE: dict[str, tuple[type, Collection[str]]] = {
    "nodes": (Node, {item.name for item in fields(Node)} - {"bounding_box"}),
    "meshes": (
        Mesh,
        (
            *("positions", "corners", *CORNER_TABLES, *CORNER_TABLES.values(), "color_alpha", "smoothing"),
            *("face_materials", "casts_shadows", "receives_shadows"),
        ),
    ),
    "materials": (Material, ("maps",)),
    "maps": (TextureMap, ("file_name", "raw_file_name", "embedded")),
    "cameras": (Camera, ("target",)),
    "lights": (Light, ("type", "target")),
    "environment": (Environment, ()),
    "clips": (Clip, ("channels", "start", "end", "rate", "unit", "units_per_frame", "bounds", "raw_channels")),
}
"""parts of the model, and the fields that are reported elsewhere: by a special message in `_present`, or with the part
itself
"""
_FIELDS: dict[str, tuple[Field[Any], ...]] = {
    part: tuple(
        field
        for field in fields(kind)
        if field.name not in elsewhere
        and (field.name not in ("name", "raw_name", "extras") or (part, field.name) == ("clips", "name"))
    )
    for part, (kind, elsewhere) in _REPORTED_ELSEWHERE.items()
}
"""the fields of each part that are reported one by one"""
REPORTED_PARTS = tuple(_FIELDS)
_UNSEEN = {"nodes.bounding_box", "meshes.axes", "clips.name", "clips.current"}
"""fields that change nothing that is shown: summaries do not name them"""

_BOOKKEEPING = {"offset", "path", "generator", "image", "embedded", "role", "intensity", "roughness"}
"""extras that need no report: file locations, and values that fields of the model express (intensity as multiplier,
roughness as shininess). Formats add their own with `Format.bookkeeping`.
"""
_LISTS = {list, tuple}
_USUAL: dict[str, Any] = {"alpha_mode": "OPAQUE", "metallic": 0.0, "emissive": [0.0, 0.0, 0.0]}
"""extras with these values need no report: they are the implicit defaults of other formats"""


def all_fields(part: str) -> tuple[str, ...]:
    """Return the names of all fields of a part that are reported one by one: ``materials.shininess`` …"""
    return tuple(f"{part}.{field.name}" for field in _FIELDS[part])


def report_dropped(
    scene: Scene, clip: Clip, report: LossReport, supported: Collection[str], target: str = "this format"
) -> None:
    """Report what the scene has and the format cannot store: features, single fields, and extras of another format.

    ``supported`` names the features (`declared_fields.FEATURES`) and fields (``meshes.edges``) that the format can
    store or its writer reports: see `declared_fields.Capabilities`. ``target`` is the name of the format in the report.
    """

    for feature, detail in _present(scene, clip):
        inside = _INSIDE.get(feature)  # reported with the whole part
        if feature not in supported and (inside is None or inside in supported):
            report.add(FEATURES_UNSUPPORTED[feature], f"/{feature.replace(' ', '_')}", target=target, what=detail)
    kinds = Counter(channel.track.kind for channel in clip.channels)
    for kind in sorted(set(kinds) - set(MOTION) - {"morph"} - set(supported)):
        tracks = counted(kinds[kind], f"{kind} track")
        report.add(MOTION_UNSUPPORTED["tracks"], f"/channels/{kind}", target=target, what=tracks)
    changed: Counter[tuple[str, str]] = Counter()
    for part, member in _parts(scene, clip):
        for field in _FIELDS.get(part, ()):
            changed[part, field.name] += _is_non_default(getattr(member, field.name), field)
    for (part, name), count in changed.items():
        inside = _FIELDS_INSIDE.get(part, part)
        if count and f"{part}.{name}" not in supported and (inside is None or inside in supported):
            field_words = FIELD_WORDS.get(name, name.replace("_", " "))
            loss = DETAIL_UNSUPPORTED["field"] if f"{part}.{name}" in _UNSEEN else FIELD_UNSUPPORTED["field"]
            parts = _counted(count, part)
            report.add(loss, f"/{part}/{name}", target=target, field=field_words, parts=parts)
    for part, count in _lost_names(scene, supported):
        rule = f"gives {part} the names of their nodes" if "names" in supported else "stores only the names of nodes"
        names, lost = ("names", "are") if count > 1 else ("name", "is")
        parts = _counted(count, part)
        report.add(
            NAMES_UNSUPPORTED["parts"], f"/{part}/name", target=target, rule=rule, names=names, parts=parts, lost=lost
        )
    report_foreign_extras(scene, clip, report, EXTRAS_UNSUPPORTED, target)
    if "segment" not in supported:
        _report_segment(clip, report, "frames" in supported, target)


_CARRIED = {"meshes": "mesh", "cameras": "camera", "lights": "light", "skins": "skin"}
"""parts that nodes refer to, and the field of the node that does"""


def _lost_names(scene: Scene, supported: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the parts that the format stores and how many of them lose their name.

    A format that stores ``names`` keeps names that are equal to the name of a node of the part.
    """
    for part, field in _CARRIED.items():
        if part in supported and f"{part}.name" not in supported:
            carriers: dict[int, set[str]] = {}
            for node in scene.nodes if "names" in supported else ():
                carriers.setdefault(getattr(node, field), set()).add(node.name)
            names = {number: member.name for number, member in enumerate(getattr(scene, part)) if member.name}
            used = {getattr(node, field) for node in scene.nodes} & names.keys()
            count = sum(names[number] not in carriers.get(number, ()) for number in used)
            if count:
                yield part, count


def report_foreign_extras(
    scene: Scene, clip: Clip, report: LossReport, kind: LossType, target: str = "this format"
) -> None:
    """Report extras from files of other formats: name, and how many parts have them."""
    for part, name, count in foreign_extras(scene, clip, report.target):
        report.add(kind, f"/{part}/{name}", target=target, field=name, parts=_counted(count, part))


def foreign_extras(scene: Scene, clip: Clip, target: str) -> list[tuple[str, str, int]]:
    """Return extras from files of formats other than ``target``: part, name, and how many parts have them."""
    counts: Counter[tuple[str, str]] = Counter()
    known: dict[str, set[str]] = {}
    for part, member in _parts(scene, clip):
        for format, content in extras_without_keeping(member).items():
            if format != target and isinstance(content, (dict, Mapping)):  # dict first: ten times faster
                bookkeeping = known.get(format)
                if bookkeeping is None:
                    bookkeeping = known[format] = _BOOKKEEPING.union(properties_of(format).bookkeeping)
                if bookkeeping.issuperset(content) and not _LISTS.intersection(map(type, content.values())):
                    continue  # most parts of most files
                for name in sorted(_reported_extras(content, bookkeeping)):
                    counts[part, name] += 1
    return [(part, name, count) for (part, name), count in counts.items()]


def _parts(scene: Scene, clip: Clip) -> Iterator[tuple[str, Any]]:
    for part in ("nodes", "meshes", "materials", "cameras", "lights", "skins"):
        yield from ((part, member) for member in getattr(scene, part))
    yield from (("maps", map) for material in scene.materials for map in material.maps.values())
    yield from (("tracks", channel.track) for channel in clip.channels)
    yield from (("clips", clip), ("environment", scene.environment), ("scene", scene))


def _reported_extras(content: Mapping[str, Any], bookkeeping: Collection[str]) -> set[str]:
    """Return the names of extras that need a report: for a list of chunks the record types, else the key."""
    names = set()
    for key, value in content.items():
        chunks: Sequence[Mapping[str, Any]] = ()
        if isinstance(value, (list, tuple)):
            chunks = [item for item in value if isinstance(item, (dict, Mapping)) and "chunk" in item]
            names |= {str(chunk.get("record") or f"chunk {chunk['chunk']}") for chunk in chunks}
        if not chunks and key not in bookkeeping and not (key in _USUAL and value == _USUAL[key]):
            names.add(key)
    return names.difference(bookkeeping)


def _counted(count: int, part: str) -> str:
    if part in ("scene", "environment") or (part, count) == ("clips", 1):
        return f"the {part.removesuffix('s')}"
    return counted(count, "mesh" if part == "meshes" else part.removesuffix("s"))


def _is_non_default(value: Any, field: Field[Any]) -> bool:
    if value is None or field.default is None:
        return value is not None
    if field.default is MISSING or isinstance(field.default, Lazy):
        return bool(value)
    return bool(value != field.default)


def _report_segment(clip: Clip, report: LossReport, stores_frames: bool, target: str) -> None:
    """Report an active segment that the format cannot store: players then play the whole clip."""
    first, last = clip_span(clip)
    if not stores_frames:
        moving = [channel.track.times for channel in clip.channels if len(channel.track.times)]
        ends = [float(end) for times in moving for end in times[[0, -1]]]
        first, last = min(ends, default=clip.start), max(ends, default=clip.end)
    if (clip.start, clip.end) != (first, last):
        begin, end = clip.start, clip.end
        report.add(
            CLIP_RANGE_UNSUPPORTED["segment"],
            "/clips/segment",
            target=target,
            first=first,
            last=last,
            begin=begin,
            end=end,
        )


def _present(scene: Scene, clip: Clip) -> list[tuple[str, str]]:
    """Return the features that the scene has, and their text in messages (``smoothing groups (2 meshes)``)."""
    nodes, meshes, materials = scene.nodes, scene.meshes, scene.materials
    environment = scene.environment
    casting_none = sum(not mesh.casts_shadows for mesh in meshes)
    receiving_none = sum(not mesh.receives_shadows for mesh in meshes)
    dummies = sum(node.kind is NodeKind.DUMMY for node in nodes)
    translucent = sum(mesh.colors is not None and mesh.color_alpha is not None for mesh in meshes)
    other_maps = sum(bool(set(material.maps) - {"texture1"}) for material in materials)
    kinds = (
        ("parents", sum(node.parent is not None for node in nodes), "parent link", "{} of nodes"),
        ("meshes", len(meshes), "mesh", "{}"),
        ("materials", len(materials), "material", "{}"),
        ("cameras", len(scene.cameras), "camera", "{}"),
        ("lights", len(scene.lights), "light", "{}"),
        ("skins", len(scene.skins), "skin", "{}"),
        ("morphs", sum(node.morph is not None for node in nodes), "mesh", "morph shapes ({})"),
        ("pivots", sum(bool(np.any(node.pivot)) for node in nodes), "pivot", "{}"),
        ("scale axes", sum(node.scale_axes_xyzw is not None for node in nodes), "node", "scale axes ({})"),
        ("hidden nodes", sum(node.hidden for node in nodes), "node", "the state 'hidden' ({})"),
        ("smoothing", sum(mesh.smoothing is not None for mesh in meshes), "mesh", "smoothing groups ({})"),
        ("vertex colours", sum(mesh.colors is not None for mesh in meshes), "mesh", "vertex colours ({})"),
        ("vertex alpha", translucent, "mesh", "opacity of vertices ({})"),
        ("second coordinates", sum(mesh.uv2 is not None for mesh in meshes), "mesh", "second coordinates ({})"),
        ("normals", sum(mesh.normals is not None for mesh in meshes), "mesh", "authored normals ({})"),
        ("cast shadows", casting_none, "mesh", "the setting 'casts no shadow' ({})"),
        ("received shadows", receiving_none, "mesh", "the setting 'receives no shadow' ({})"),
        ("textures", sum(bool(material.maps) for material in materials), "material", "maps ({})"),
        ("other maps", other_maps, "material", "maps other than the texture ({})"),
        ("raw channels", len(clip.raw_channels), "raw channel", "{}"),
        ("dummies", dummies, "node", "the kind 'dummy' ({})"),
        ("unused meshes", _unused(scene, "meshes"), "mesh", "{} without a node"),
        ("unused cameras", _unused(scene, "cameras"), "camera", "{} without a node"),
        ("unused lights", _unused(scene, "lights"), "light", "{} without a node"),
    )
    features = [(feature, text.format(counted(count, noun))) for feature, count, noun, text in kinds if count]
    stored = environment.uses | {name for name in _BACKGROUND | _FOG if getattr(environment, name) is not None}
    surroundings = {"a background": stored & _BACKGROUND, "fog": stored & _FOG}
    surroundings["ambient light"] = {"ambient"} if any(environment.ambient or ()) else set()
    if any(surroundings.values()):
        features.append(("environment", ", ".join(name for name, has in surroundings.items() if has)))
    if clip.bounds is not None:
        features.append(("bounds", "the bounding boxes of the frames"))
    features += [(name, f"the {name}") for name in ("title", "author", "copyright") if getattr(scene, name)]
    return features


def _unused(scene: Scene, part: str) -> int:
    """Return the number of meshes, cameras or lights that no node refers to."""
    used = {getattr(node, _CARRIED[part]) for node in scene.nodes}
    return len(set(range(len(getattr(scene, part)))) - used)


_BACKGROUND = {"background_color", "background_image", "gradient"}
_FOG = {"fog", "distance_cue", "layered_fog"}


def can_be_joint(node: Node) -> bool:
    """Return whether motion formats can store a node of this kind: an object, dummy or bone."""
    return node.kind in (NodeKind.OBJECT, NodeKind.DUMMY, NodeKind.BONE)
