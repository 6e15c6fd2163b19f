"""Writes scenes as glTF 2.0; data that glTF cannot store goes to extras.

`export` builds the whole asset in memory; `save` also writes it as ``.glb``, or as ``.gltf`` with a ``.bin``.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyframer import __version__
from keyframer.arrays import Floats
from keyframer.exchange.gltf import LUANTI, profiles
from keyframer.exchange.gltf.conventions import Json, Names, attach_extras, json_numbers, json_value, non_default_fields
from keyframer.exchange.gltf.write.animation import write_animations
from keyframer.exchange.gltf.write.animation_channels import hide_node
from keyframer.exchange.gltf.write.asset import Asset, write_glb, write_gltf
from keyframer.exchange.gltf.write.cameras_lights import Lights, light_extras, write_cameras
from keyframer.exchange.gltf.write.compact import find_grids
from keyframer.exchange.gltf.write.materials import Materials
from keyframer.exchange.gltf.write.meshes import Meshes, Skins
from keyframer.exchange.gltf.write.nodes import Tree
from keyframer.exchange.gltf.write.options import Context, GltfOptions
from keyframer.exchange.kit.aims import find_aim_constraints
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.cameras_lights import light_starts, unit_intensities
from keyframer.exchange.kit.images import named_images
from keyframer.exchange.kit.one_timeline import on_one_timeline
from keyframer.exchange.kit.options import made_options
from keyframer.files import check_output
from keyframer.formats import Format
from keyframer.formats.document import encode
from keyframer.formats.guard import GcPaused
from keyframer.formats.kit.scene_reading import path_finder
from keyframer.formats.kit.scene_writing import Written, without_invalid_links
from keyframer.formats.kit.unsupported_features import report_foreign_extras
from keyframer.limits import budgeted
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import poses_of_size
from keyframer.scene import Clip, LightType, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import (
    CLIP_SECTION,
    EXTRAS_KEPT,
    FEATURES_UNSUPPORTED,
    FIELD_KEPT,
    LINK_INVALID,
    ORIGINAL_UNCHANGED,
    SOURCE_EMBEDDED,
)

__all__ = ["GltfOptions", "export", "save"]


def export(scene: Scene, options: GltfOptions | None = None) -> tuple[Asset, LossReport]:
    """Return a glTF asset of a scene, and its loss report. The scene is not changed."""
    with GcPaused(), budgeted(size=scene.stored_bytes):
        return _export(scene, options or GltfOptions())


def _export(scene: Scene, options: GltfOptions) -> tuple[Asset, LossReport]:
    report = LossReport("gltf", source=json_value(dict(options.source)))
    if options.profile == LUANTI:
        scene, options = _for_luanti(scene, options, report)
    if scene.origin is not None:
        report.find_path = path_finder(scene.origin.document)
    embedded = _source_files(scene) if options.embed_source else None
    scene, removed_links = without_invalid_links(scene)
    for path, reason in removed_links:
        report.add(LINK_INVALID, path, problem=reason)
    rig = Rig(scene)
    axes = Axes(scene.space, options.metres_per_unit(scene))
    poses = poses_of_size(rig)
    context = Context(scene, options, Asset(), axes, report, Names(), rig, poses)
    aims = find_aim_constraints(scene, rig.order)
    samples, world = {family: values[:1] for family, values in poses[0].items()}, poses[1][0]  # at the start
    materials = Materials(context)
    grids = find_grids(context, world)
    tree = Tree(context, rig, aims, samples, world, grids)
    write_cameras(context, rig.properties.fov.at(samples, 1)[0, :, 0])
    visible = (rig.properties.visible.at(samples, 1)[0, :, 0] > 0.5).tolist()
    lights = Lights(context, unit_intensities(scene, world, visible, axes.unit), light_starts(rig.properties, samples))
    weights = {number: rows[0] for number, rows in rig.properties.morph_weights(samples, 1).items()}
    _attach_parts(context, tree, Meshes(context, materials, grids), lights, visible, weights)
    clips = write_animations(context, tree, aims, lights, rig)
    _add_metadata(context, clips)
    if embedded is not None:
        _embed(context, *embedded)
    if options.profile == LUANTI:
        for finding in profiles.findings(context.asset.root([{}])):
            if finding.is_refused:
                raise ValueError(f"Luanti would refuse the file: {finding.path}: {finding.reason}")
    return context.asset, report


def _for_luanti(scene: Scene, options: GltfOptions, report: LossReport) -> tuple[Scene, GltfOptions]:
    """Return a scene and options whose export is what Luanti takes: one animation, no morphs, cameras and extensions,
    and images only by name. Its frames are seconds, so the report has those of each section."""
    nodes = [node if node.camera is None and node.morph is None else copy.copy(node) for node in scene.nodes]
    for node in nodes:
        if node.morph is not None:
            report.add(FEATURES_UNSUPPORTED["morphs"], f"/nodes/{node.name}/morph", target="Luanti", what="morphs")
        if node.camera is not None:
            report.add(FEATURES_UNSUPPORTED["cameras"], f"/nodes/{node.name}", target="Luanti", what="cameras")
        node.camera, node.morph = None, None
    scene, sections = on_one_timeline(replace(scene, nodes=nodes, cameras=[]))
    for section in sections:
        report.add(CLIP_SECTION, f"/clips/{section.name}", begin=section.begin, end=section.end)
    return scene, replace(options, core_only=True, images=named_images)


def _source_files(scene: Scene) -> tuple[Written, dict[str, object]]:
    """Return the files that a scene was loaded from, and the options that it was read with; raises ValueError if they
    would not give this scene again.
    """
    if scene.origin is None:
        raise ValueError("embed_source needs a scene that was loaded from a file, not from glTF")
    document = scene.origin.document
    format: Format = document.format
    written, merger = format.from_scene(scene, {}), format.scene_writer().merger
    unchanged = any(loss.type is ORIGINAL_UNCHANGED for loss in written.report)
    if not unchanged:
        raise ValueError(
            "embed_source: the scene was changed after loading, and the source file does not have the change"
        )
    companions = merger.companion_options(written)
    options = {name: value for name, value in scene.origin.options.items() if name not in companions}
    for name, value in options.items():
        if not isinstance(value, (str, int, float, bool, type(None))):
            raise ValueError(f"embed_source: the option {name!r} that the file was read with cannot be embedded")
    return written, options


def _embed(context: Context, written: Written, options: dict[str, object]) -> None:
    """Add the source files to the buffer, and their description to the asset."""
    format, buffers = written.document.format, context.asset.buffers
    name = str(context.report.source.get("name") or f"source{format.extensions[0]}")
    files: list[Json] = [{"name": name, "bufferView": buffers.blob(encode(written.document))}]
    files += [{"suffix": suffix, "bufferView": buffers.blob(content)} for suffix, content in written.companions]
    context.asset.embedded = {"format": format.name, "files": files, **({"options": options} if options else {})}
    context.report.add(SOURCE_EMBEDDED, "/", name=name)


def _attach_parts(
    context: Context,
    tree: Tree,
    meshes: Meshes,
    lights: Lights,
    visible: list[bool],
    weights: dict[int, Floats],
) -> None:
    """Add meshes, skins, weights, cameras and lights to the nodes, and hide geometry that is not visible."""
    skins = None if tree.root is None else Skins(context, [parts.tail for parts in tree.parts], tree.root)
    for number, (node, parts) in enumerate(zip(context.scene.nodes, tree.parts, strict=True)):
        tail: Json = context.asset.nodes[parts.tail]
        if node.camera is not None:
            tail["camera"] = node.camera
        if node.light is not None:
            if node.light in lights.numbers:
                link = {"light": lights.numbers[node.light]}
                tail.setdefault("extensions", {})["KHR_lights_punctual"] = link
            else:
                attach_extras(
                    context.asset.nodes[parts.head], {"light": light_extras(context.scene.lights[node.light])}
                )
        if node.mesh is None or parts.geometry is None:
            continue
        mesh = meshes.write(node.mesh, node.morph, node.skin)
        if mesh is None:
            continue
        geometry: Json = context.asset.nodes[parts.geometry]
        geometry["mesh"] = mesh
        if node.skin is not None and skins is not None:
            geometry["skin"] = skins.write(node.skin, node.mesh)
        if number in weights and node.morph is not None and node.morph.positions:
            geometry["weights"] = json_numbers(weights[number])
        hide_node(context, number, parts, visible[number])


def _add_metadata(context: Context, clips: list[Json]) -> None:
    """Set copyright and name, and attach provenance and the extras of the whole scene."""
    scene, asset = context.scene, context.asset
    if scene.copyright:
        asset.properties["copyright"] = scene.copyright
    source = {**context.report.source}
    if scene.source_format:
        source.setdefault("format", scene.source_format)
    provenance = {"version": __version__, "source": source, "options": context.options.provenance_fields()}
    if scene.issues.first_unsafe() is not None:
        provenance["salvaged"] = scene.issues.unsafe_counts()
    attach_extras(asset.properties, provenance)
    content: Json = {"space": scene.space, **non_default_fields(scene, "author")}
    environment = non_default_fields(
        scene.environment,
        *("ambient", "background_color", "background_image", "gradient", "fog", "distance_cue", "layered_fog", "uses"),
    )
    if scene.environment.extras:
        environment["extras"] = scene.environment.extras
    if environment:
        content["environment"] = environment
        for name in environment:
            context.report.add(FIELD_KEPT["field"], f"/environment/{name}")
    ambient = [_ambient_light(context, number) for number, light in enumerate(scene.lights) if light.type is _AMBIENT]
    if ambient:
        content["ambient_lights"] = ambient
    if clips:
        content["clips"] = clips
    if scene.extras:
        content["extras"] = scene.extras
        context.report.add(EXTRAS_KEPT["scene"], "/extras")
    report_foreign_extras(scene, scene.clips[0] if scene.clips else Clip(), context.report, EXTRAS_KEPT["part"])
    if scene.title:
        asset.scene["name"] = scene.title
    attach_extras(asset.scene, content)
    context.report.measured.setdefault("size", context.size)


_AMBIENT = LightType.AMBIENT


def _ambient_light(context: Context, number: int) -> Json:
    """Return an ambient light for extras, with the keys of its tracks."""
    scene = context.scene
    content, nodes = light_extras(scene.lights[number]), scene.nodes
    for channel in scene.clips[0].channels if scene.clips else ():
        track, is_its = channel.track, channel.node is not None and nodes[channel.node].light == number
        if is_its and track.kind in ("color", "multiplier") and len(track.times) > 1:
            keys = {"frames": track.times, "values": track.values, "interpolation": track.interpolation.value}
            content.setdefault("animation", {})[track.kind] = keys
            path = f"/nodes/{nodes[channel.node].name}/{track.kind}"
            context.report.add(FIELD_KEPT["ambient track"], path, extras=track.extras, count=len(track.times))
    return content


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """Write a scene; ``dialect`` is ``binary`` or ``text``; None: from the extension, binary by default."""
    gltf_options = made_options("gltf", GltfOptions, scene, options)
    check_output(path, overwrite=overwrite)
    asset, report = export(scene, gltf_options)
    as_text = dialect == "text" or (dialect is None and path.suffix.lower() == ".gltf")
    report.written = (write_gltf if as_text else write_glb)(asset, path, overwrite=overwrite)
    return report
