"""Skins that store where each influence is: they follow vertices that somebody moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyframer.scene import Mesh, Scene, Skin


def with_moved_vertices(scene: Scene, stored: Scene) -> Scene:
    """The scene with the places of influences moved as the vertices of their meshes were; where they were changed
    themselves they have the say. ``stored`` is what the file says now, with the same nodes."""
    if len(scene.nodes) != len(stored.nodes) or len(scene.skins) != len(stored.skins):
        return scene
    skins = list(scene.skins)
    for node, was in zip(scene.nodes, stored.nodes, strict=True):
        if node.skin is None or node.mesh is None or was.skin is None or was.mesh is None:
            continue
        skin, known = skins[node.skin], stored.skins[was.skin]
        mesh, old = scene.meshes[node.mesh], stored.meshes[was.mesh]
        if _same_places(skin, known) and np.shape(mesh.positions) == np.shape(old.positions):
            skins[node.skin] = _moved(skin, mesh, old)
    return replace(scene, skins=skins)


def _same_places(skin: Skin, known: Skin) -> bool:
    if skin.positions is None or known.positions is None:
        return False
    names = ("positions", "vertices", "influences", "weights")
    return all(np.array_equal(getattr(skin, name), getattr(known, name)) for name in names)


def _moved(skin: Skin, mesh: Mesh, old: Mesh) -> Skin:
    way = np.asarray(mesh.positions, np.float64) - np.asarray(old.positions, np.float64)
    moved = np.asarray(way.any(axis=1))
    if not moved.any():
        return skin
    owners = np.asarray(skin.vertices, np.int64)
    chosen = np.flatnonzero(moved[owners])
    inverse = np.asarray(skin.inverse_bind, np.float64)[np.asarray(skin.influences, np.int64)[chosen]]
    places = np.array(skin.positions, np.float64)
    places[chosen] += np.einsum("nij,nj->ni", inverse[:, :3, :3], way[owners[chosen]])
    return replace(skin, positions=places)
