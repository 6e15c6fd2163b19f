"""Writes scenes as glTF 2.0; data that glTF cannot store goes to extras.

`export` builds the whole asset in memory; `save` also writes it as ``.glb``, or as ``.gltf`` with a ``.bin``.
"""

from keyframer.exchange.gltf.write.exporting import export, save
from keyframer.exchange.gltf.write.options import GltfOptions

__all__ = ["GltfOptions", "export", "save"]
