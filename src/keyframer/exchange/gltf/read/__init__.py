"""Reads glTF 2.0 into scenes, with the authored keys if Keyframer wrote the file."""

from keyframer.exchange.gltf.read.importing import check, load

__all__ = ["check", "load"]
