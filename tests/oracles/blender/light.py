"""How brightly Cycles renders a grey sphere lit by the lights of .glb files; the sphere replaces their meshes.

    python light.py REQUESTS ANSWERS

Each line of REQUESTS is JSON: ``file``, ``mode`` (of the importer: COMPAT is called *Unitless*, SPEC *Standard*),
``centre``, ``radius`` and ``eye`` in the axes of the file, and optionally the ``exposure`` of the scene, in stops. Each
line of ANSWERS is the mean of the pixels, 0 to 1.
"""

import json
import math
import sys

import bpy
from mathutils import Vector

GREY = 0.2140411  # 0.5 on a screen
SIZE = 48


def brightness(request):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=request["file"], export_import_convert_lighting_mode=request["mode"])
    for part in bpy.data.objects:
        part.hide_render = part.type == "MESH"
    centre, eye = ((x, -z, y) for x, y, z in (request["centre"], request["eye"]))
    bpy.context.scene.view_settings.exposure = request.get("exposure", 0.0)
    return sphere_brightness(centre, request["radius"], eye, request["file"] + ".png")


def sphere_brightness(centre, radius, eye, picture):
    """The mean of the pixels that show a grey sphere, 0 to 1, in Blender's axes."""
    scene = bpy.context.scene
    _add_sphere(centre, radius)
    camera = bpy.data.objects.new("eye", bpy.data.cameras.new("eye"))
    camera.location = eye
    camera.rotation_euler = (Vector(centre) - Vector(eye)).to_track_quat("-Z", "Y").to_euler()
    camera.data.angle = math.radians(20)
    camera.data.clip_start, camera.data.clip_end = radius / 100, radius * 100
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.use_denoising = "CPU", 8, False
    scene.render.resolution_x = scene.render.resolution_y = SIZE
    scene.render.resolution_percentage = 100
    scene.render.film_transparent = True
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.file_format, scene.render.image_settings.color_mode = "PNG", "RGBA"
    scene.render.filepath = picture
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(scene.render.filepath)
    image.colorspace_settings.name = "Non-Color"
    pixels = list(image.pixels)
    shown = [sum(pixels[at : at + 3]) / 3 for at in range(0, len(pixels), 4) if pixels[at + 3] > 0.99]
    return sum(shown) / len(shown)


def _add_sphere(centre, radius):
    bpy.ops.mesh.primitive_uv_sphere_add(segments=64, ring_count=32, radius=radius, location=centre)
    sphere = bpy.context.object
    for face in sphere.data.polygons:
        face.use_smooth = True
    grey = bpy.data.materials.new("grey")
    grey.use_nodes = True
    grey.node_tree.nodes.clear()
    surface = grey.node_tree.nodes.new("ShaderNodeBsdfDiffuse")
    surface.inputs[0].default_value = (GREY, GREY, GREY, 1)
    output = grey.node_tree.nodes.new("ShaderNodeOutputMaterial")
    grey.node_tree.links.new(surface.outputs[0], output.inputs[0])
    sphere.data.materials.append(grey)


if __name__ == "__main__":
    with open(sys.argv[-2], encoding="utf-8") as requests, open(sys.argv[-1], "w", encoding="utf-8") as answers:
        for line in requests:
            answers.write(f"{brightness(json.loads(line))}\n")
