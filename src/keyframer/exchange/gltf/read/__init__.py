"""Reads glTF 2.0 into scenes; extras of files that Keyframer wrote add what glTF has no place for."""

from keyframer.exchange.gltf.read.importing import check, load

__all__ = ["check", "load"]
