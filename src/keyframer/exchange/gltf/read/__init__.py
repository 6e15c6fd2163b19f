"""glTF 2.0 read into scenes: strict, bounds-checked, and with the authored keys where the file is one of ours."""

from keyframer.exchange.gltf.read.importing import check, load

__all__ = ["check", "load"]
