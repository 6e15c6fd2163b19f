"""From Hale3D documents to scenes: `skeleton` builds the frames, `surface` the skinned model, `scene` joins them.
`writing` makes an animation of a scene, `write_model` its model."""

from keyframer.formats.hale3d.bridge.options import Options, companions
from keyframer.formats.hale3d.bridge.scene import to_scene

__all__ = ["Options", "companions", "to_scene"]
