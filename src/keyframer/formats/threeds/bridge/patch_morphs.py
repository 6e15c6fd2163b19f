"""Meshes that change their shape: keys that name shapes, and the vertices of those, changed in place."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.formats.kit.key_tracks import KeyFitter
from keyframer.formats.kit.scene_writing import Unpatchable
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.links import Links
from keyframer.formats.threeds.bridge.patch_values import take_out
from keyframer.formats.threeds.bridge.write_tracks import write_morph_track
from keyframer.scene import Morph, Node, Scene
from keyframer.text import decode_name

Floats = npt.NDArray[np.float64]


class MorphPatcher:
    def __init__(self, before: Scene, after: Scene, links: Links, fitter: KeyFitter | None) -> None:
        self.before = before
        self.after = after
        self.links = links
        self.fitter = fitter

    def patch(self, number: int) -> None:
        """Keys and shapes of one node."""
        node, chunk = self.after.nodes[number], self.links.nodes[number]
        if chunk is None or self.fitter is None:
            raise Unpatchable("shapes of an object that the keyframer does not know")
        old = child(chunk, r.MorphTrack)
        track = next((each.track for each in self.after.channels_of(number) if each.track.kind == "morph"), None)
        fitted = None if track is None else self.fitter.fit(track, "morph")
        if node.morph is None or fitted is None:
            take_out(chunk, old)
            return
        names = [self._object(word).name for word in node.morph.names]
        new = write_morph_track(fitted, names, announced=True)
        if new is None:
            raise Unpatchable("morph keys that mix shapes")
        if old is None:
            chunk.children.append(new)
        else:
            old.flags = old.flags & ~3 | new.flags
            old.keys = new.keys
        self._shapes(self.before.nodes[number], node, node.morph)

    def _object(self, word: str) -> r.NamedObject:
        for name, (thing, _) in self.links.surfaces.items():
            if decode_name(name) == word:
                return thing
        raise Unpatchable(f"no object is called as the shape {word!r}")

    def _shapes(self, before: Node, node: Node, morph: Morph) -> None:
        """The vertices of shapes that changed."""
        was = {} if before.morph is None else dict(zip(before.morph.names, before.morph.positions, strict=True))
        for word, wanted in zip(morph.names, morph.positions, strict=True):
            thing = self._object(word)
            body = child(thing, r.Mesh)
            points = None if body is None else child(body, r.PointArray)
            known = was.get(word)
            if node.mesh is None or points is None or len(points.points) != len(wanted):
                raise Unpatchable(f"the shape {word!r} has another number of vertices")
            moved = np.ones(len(wanted), bool)
            if known is not None:
                moved = (np.asarray(known) != np.asarray(wanted)).any(axis=1)
            if moved.any():
                made = np.array(points.points)
                back = _to_stored(self.links, node.mesh, self.links.surfaces[thing.name][1])
                made[moved] = np.asarray(wanted, np.float64)[moved] @ back[:3, :3].T + back[:3, 3]
                points.points = made


def _to_stored(links: Links, mesh: int, own: Floats | None) -> Floats:
    """(4, 4) from a shape in the space of the mesh to its stored vertices; ``own``: from those to the shape's axes."""
    whole = links.surfaces[links.meshes[mesh].name][1]
    if own is None or whole is None:
        raise Unpatchable("a shape whose matrix is singular")
    change = links.to_mesh[mesh] @ np.linalg.inv(whole) @ own
    return np.asarray(np.linalg.inv(change), np.float64)


def shape_object(links: Links, mesh: int, name: bytes, shape: npt.ArrayLike) -> r.NamedObject:
    """A hidden object for a new shape: the mesh's own faces and matrix, other vertices."""
    model = links.meshes[mesh]
    body = child(model, r.Mesh)
    points: Any = None if body is None else child(body, r.PointArray)
    wanted = np.asarray(shape, np.float64)
    if body is None or points is None or len(points.points) != len(wanted):
        raise Unpatchable("a shape with another number of vertices than its mesh")
    back = _to_stored(links, mesh, links.surfaces[model.name][1])
    kinds = (r.FaceArray, r.TextureVertices, r.MeshMatrix)
    parts = [copy.deepcopy(each) for each in body.children if isinstance(each, kinds)]
    moved = r.PointArray((wanted @ back[:3, :3].T + back[:3, 3]).astype("<f4"))
    return r.NamedObject(name, children=[r.ObjectHidden(), r.Mesh(children=[moved, *parts])])
