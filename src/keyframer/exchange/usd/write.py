"""Writes scenes as USD: the steps of the export in order, and the files."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keyframer import __version__
from keyframer.exchange.kit.aims import find_aim_constraints
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.cameras_lights import light_starts, unit_intensities
from keyframer.exchange.kit.clip_motions import ClipMotions
from keyframer.exchange.kit.images import Image
from keyframer.exchange.kit.motion_report import report_tracks
from keyframer.exchange.kit.options import SceneOptions, made_options
from keyframer.exchange.usd.cameras_lights import CamerasAndLights
from keyframer.exchange.usd.context import Context
from keyframer.exchange.usd.layer import Prim, identifier, layer_parts, number, quoted, row, wxyz
from keyframer.exchange.usd.materials import Materials
from keyframer.exchange.usd.meshes import Meshes
from keyframer.exchange.usd.nodes import LocalTransforms, write_nodes
from keyframer.exchange.usd.package import package_parts
from keyframer.exchange.usd.skeletons import Skeletons
from keyframer.files import check_output, content_name, write_bytes, write_set
from keyframer.formats.guard import GcPaused
from keyframer.formats.kit.declared_fields import Capabilities, StoredAs
from keyframer.formats.kit.scene_reading import path_finder
from keyframer.formats.kit.scene_writing import first_clip, without_invalid_links
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.limits import budgeted
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.channels import Samples
from keyframer.scene import LightType, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import AIM_BAKED, KEYS_RESAMPLED, LINK_INVALID

_NAME = StoredAs(("name",), "the name of the prim")
CAPABILITIES = Capabilities(
    (
        *("parents", "names", "dummies", "hidden nodes", "pivots", "scale axes", "meshes", "vertex colours"),
        *("vertex alpha", "second coordinates", "normals", "morphs", "skins", "materials", "textures", "other maps"),
        *("cameras", "lights", "title", "author", "copyright", "segment"),
        *("scale_axes", "visible", "fov", "roll", "color", "multiplier", "hotspot", "falloff"),
    ),
    {
        "meshes": [_NAME],
        "materials": [
            StoredAs(("diffuse", "transparency", "self_illumination"), "inputs of the preview surface"),
            StoredAs(("shininess", "shininess_strength"), "the roughness"),
            StoredAs(("two_sided",), "the sides of the mesh"),
        ],
        "maps": [
            StoredAs(("scale", "offset", "rotation_degrees"), "UsdTransform2d"),
            StoredAs(("tiled", "mirror", "decal"), "how the texture is repeated"),
            StoredAs(("second_coordinates",), "the primvar of the texture"),
            StoredAs(("amount", "negative", "alpha_source", "ignore_alpha"), "the pixels of the image"),
        ],
        "cameras": [_NAME, StoredAs(("fov_degrees",), "the focal length"), StoredAs(("clip",), "the clipping range")],
        "lights": [
            _NAME,
            StoredAs(("color", "multiplier", "on"), "colour and intensity"),
            StoredAs(("hotspot_degrees", "falloff_degrees"), "the shaping cone"),
        ],
        "skins": [_NAME],
        "clips": [StoredAs(("units_per_frame", "rate"), "time codes")],
    },
    reported=("materials.shading", "lights.attenuated", "cameras.roll_degrees", "lights.roll_degrees"),
)

_INTENSITIES = {LightType.OMNI: 4.0, LightType.SPOT: 4.0, LightType.DIRECTIONAL: 1.0, LightType.AMBIENT: 1 / math.pi}
"""intensity of each type for one of `unit_intensities`"""


class _Images:
    """The files of images: their paths, and their content."""

    def __init__(self, layer: Path, folder: str) -> None:
        """In a package, images are in a ``folder``; beside a layer, they have a hash of their content in their name."""
        self._layer, self._folder = layer, folder
        self.files: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}

    def path(self, image: Image) -> str:
        if image.data not in self._names:
            ending = ".jpg" if image.mime_type == "image/jpeg" else ".png"
            digest = hashlib.sha256(image.data).hexdigest()
            name = os.path.basename(content_name(self._layer, digest, ending))
            if self._folder:
                stem = identifier(os.path.splitext(image.name)[0], "image")[:80]
                name = f"{self._folder}/{stem}{ending}"
                if name in self.files:
                    name = f"{self._folder}/{stem}_{digest[:12]}{ending}"
            self._names[image.data] = name
            self.files[name] = image.data
        return f"./{self._names[image.data]}" if not self._folder else self._names[image.data]


def export(scene: Scene, options: SceneOptions, images: _Images) -> tuple[Prim, dict[str, str], LossReport]:
    """Return the root prim of a scene, the metadata of its layer, and its loss report. The scene is not changed."""
    report = LossReport("usd", source=dict(options.source))
    if scene.origin is not None:
        report.find_path = path_finder(scene.origin.document)
    scene, removed_links = without_invalid_links(scene)
    for path, reason in removed_links:
        report.add(LINK_INVALID, path, problem=reason)
    clip = first_clip(scene, report)
    report_dropped(scene, clip, report, CAPABILITIES.handled, "USD")
    rig = Rig(scene)
    aims = find_aim_constraints(scene, rig.order)
    motions = ClipMotions(rig, aims, options, scene_size(scene, rig))
    source_name = os.path.splitext(str(options.source.get("name") or ""))[0]
    name = scene.title or source_name or "Scene"
    root = Prim("Xform", identifier(name, "Scene"))
    root.metadata.append('kind = "component"')
    context = Context(scene, options, Axes(scene.space), report, motions, root, images.path)
    if scene.space.up == "x":
        turn = wxyz(np.array(context.axes.up_rotation_xyzw))
        root.set("quatf xformOp:orient", row(turn.tolist()))
        root.set("uniform token[] xformOpOrder", '["xformOp:orient"]')
    _write_parts(context)
    metadata = _metadata(context)
    return root, metadata, report


def _write_parts(context: Context) -> None:
    scene, rig, report = context.scene, context.motions.rig, context.report
    samples: Samples = {}
    world = rig.world_at_rest[0]
    if rig.channels.animated:
        samples = rig.sample([context.motions.span.begin])
        world = rig.world(samples, 1)[0]
    visible = (rig.properties.visible.at(samples, 1)[0, :, 0] > 0.5).tolist()
    local = LocalTransforms(context, samples, world)
    weights = {node: rows[0] for node, rows in rig.properties.morph_weights(samples, 1).items()}
    skeletons = Skeletons(context, local, weights)
    if skeletons.is_needed:
        context.root.kind = "SkelRoot"
    write_nodes(context, local, skeletons.left_out())
    intensities = [
        intensity * _INTENSITIES[light.type]
        for light, intensity in zip(scene.lights, unit_intensities(scene, world, visible), strict=True)
    ]
    fov = rig.properties.fov.at(samples, 1)[0, :, 0].tolist()
    settings = CamerasAndLights(context, fov, light_starts(rig.properties, samples), intensities)
    meshes = Meshes(context, Materials(context))
    drawn = set()
    for index, node in enumerate(scene.nodes):
        if index in context.prims:
            settings.write(index)
        if node.mesh is not None:
            parent = context.root if node.skin is not None else context.prims[index]
            prim = meshes.write(index, visible[index], parent)
            if prim is not None:
                skeletons.bind(index, prim)
                drawn.add(index)
    resampled = report_tracks(context.motions, report, drawn, drawn)
    clip = context.motions.clip
    if resampled:
        report.add(KEYS_RESAMPLED["tracks"], f"/clips/{clip.name}/keys", advice="", extras=clip.extras, count=resampled)
    context.motions.report_incomplete(report)
    for index in context.motions.aims:
        node, error = scene.nodes[index], context.motions.aim_error(index)
        target = "kept as a separate node"
        report.add(
            AIM_BAKED["rotation"], f"/nodes/{node.name}/target", error=error or None, extras=node.extras, target=target
        )


def _metadata(context: Context) -> dict[str, str]:
    scene, span, clip = context.scene, context.motions.span, context.motions.clip
    begin, end = span.begin, span.end
    if begin <= clip.start < clip.end <= end:  # the frames that are played
        begin, end = clip.start, clip.end
    facts = {"version": __version__, "format": scene.source_format, "title": scene.title, "author": scene.author}
    facts |= {"copyright": scene.copyright, **{str(key): str(value) for key, value in context.report.source.items()}}
    lines = "".join(f" string {identifier(key)} = {quoted(str(value))};" for key, value in facts.items() if value)
    rate = number(context.codes_per_second)
    return {
        "customLayerData": f"{{ dictionary keyframer = {{{lines} }} }}",
        "endTimeCode": number(context.code(end)),
        "framesPerSecond": rate,
        "metersPerUnit": number(context.options.stated_unit() or scene.space.metres_per_unit or 1.0),
        "startTimeCode": number(context.code(begin)),
        "timeCodesPerSecond": rate,
        "upAxis": '"Z"' if scene.space.up == "z" else '"Y"',
    }


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """Write a scene; ``dialect`` is ``package``, ``text`` or ``binary``; None: from the extension, else a package."""
    usd_options = made_options("usd", SceneOptions, scene, options)
    kind = dialect or {".usda": "text", ".usdc": "binary"}.get(path.suffix.lower(), "package")
    check_output(path, overwrite=overwrite)
    images = _Images(path, "textures" if kind == "package" else "")
    with GcPaused(), budgeted(size=scene.stored_bytes):
        root, metadata, report = export(scene, usd_options, images)
    layer = layer_parts(root, metadata)
    if kind == "package":
        files: list[tuple[str, Iterator[bytes]]] = [(f"{root.name}.usda", layer)]
        files += [(name, iter([data])) for name, data in images.files.items()]
        write_bytes(path, package_parts(files), overwrite=overwrite)
        report.written = [str(path)]
        return report
    if kind == "binary":
        layer = _binary(layer)
    named = [(path.parent / name, data) for name, data in images.files.items()]
    write_set((path, layer), named=named, overwrite=overwrite)
    report.written = [str(path), *(str(file) for file, _ in named)]
    return report


def _binary(layer: Iterator[bytes]) -> Iterator[bytes]:
    """Convert a text layer to a binary one; raises ValueError without ``usd-core``."""
    import tempfile

    try:
        from pxr import Sdf
    except ImportError:
        raise ValueError(
            ".usdc files need the package usd-core (pip install usd-core); write a .usda or .usdz"
        ) from None
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        text, binary = Path(folder, "layer.usda"), Path(folder, "layer.usdc")
        with text.open("wb") as stream:
            stream.writelines(layer)
        Sdf.Layer.FindOrOpen(str(text)).Export(str(binary))
        yield binary.read_bytes()
