"""Edits a GLB with Blender, as a user would: arguments are the file and the edited file.

Moves the node "still" to (7, -9, 8), which is (7, 8, 9) in glTF, adds 5 to the last component of the keys of "mover",
and changes the material "paint", the camera and the light. Extras are kept as custom properties.
"""

from __future__ import annotations

import sys

import bpy  # type: ignore[import-not-found]

bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=sys.argv[1])
bpy.data.objects["still"].location = (7.0, -9.0, 8.0)
action = bpy.data.objects["mover"].animation_data.nla_tracks[0].strips[0].action
for curve in action.layers[0].strips[0].channelbags[0].fcurves:
    if curve.data_path == "location" and curve.array_index == 2:
        for point in curve.keyframe_points:
            point.co.y += 5.0
shader = bpy.data.materials["paint"].node_tree.nodes["Principled BSDF"]
shader.inputs["Base Color"].default_value = (1.0, 0.0, 0.0, 1.0)
bpy.data.cameras[0].sensor_fit = "VERTICAL"
bpy.data.cameras[0].angle_y = 0.5
bpy.data.lights[0].color = (0.0, 1.0, 0.0)
bpy.data.lights[0].energy *= 2.0
bpy.ops.export_scene.gltf(filepath=sys.argv[2], export_extras=True, export_cameras=True, export_lights=True)
