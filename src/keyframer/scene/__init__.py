"""The scene model: the interpreted content of a file, in one form for all formats.

A `Scene` has nodes in a tree, the meshes, cameras, lights and skins of nodes, materials, and clips of authored keys.
Poses are computed in `posing`; files are read and written in `formats` and `exchange`. The module
`loss_report` describes what a conversion did to its parts.

Conventions: column vectors; matrices are 4 x 4 with the translation in the last column; quaternions are x, y, z, w;
angles of cameras and lights are degrees, those of rotation keys radians; the world matrix of a node is
``parent_world . T(position) . R . S`` and its geometry is shifted by ``T(-pivot)``, which does not affect children.
`Space` says which way is up, whether the axes are right- or left-handed and how long a unit is.
"""

from keyframer.scene.cameras_lights import Camera, Light, LightType
from keyframer.scene.clip import Channel, Clip, RawChannel
from keyframer.scene.environment import Environment, Fog, Gradient, Handedness, LayeredFog, Space
from keyframer.scene.material import EmbeddedImage, Material, TextureMap
from keyframer.scene.mesh import Mesh, Skin
from keyframer.scene.node import Morph, Node, NodeKind
from keyframer.scene.scene import Origin, Scene

__all__ = [
    "Camera",
    "Channel",
    "Clip",
    "EmbeddedImage",
    "Environment",
    "Fog",
    "Gradient",
    "Handedness",
    "LayeredFog",
    "Light",
    "LightType",
    "Material",
    "Mesh",
    "Morph",
    "Node",
    "NodeKind",
    "Origin",
    "RawChannel",
    "Scene",
    "Skin",
    "Space",
    "TextureMap",
]
