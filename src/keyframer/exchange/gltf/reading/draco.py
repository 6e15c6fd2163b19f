"""Meshes compressed with Draco (KHR_draco_mesh_compression), where the package DracoPy is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import LINK_INDEX_OUT_OF_RANGE, SEM_EXTENSION_UNKNOWN, STRUCT_SYNTAX
from keyframer.exchange.gltf.reading.accessors import Accessors
from keyframer.exchange.gltf.reading.buffers import Buffers
from keyframer.exchange.gltf.reading.extensions import DRACO, advice, draco_is_installed
from keyframer.exchange.gltf.reading.values import Item
from keyframer.limits import Budget

Array = npt.NDArray[Any]

_WORTH = 64
"""numbers that a compressed byte may become: a vertex takes one or two"""


class Packed:
    """The decompressed mesh of one primitive."""

    def __init__(self, triangles: npt.NDArray[np.int64], columns: dict[str, Array]) -> None:
        self.triangles = triangles
        self.columns = columns
        """by the attribute that they are, as decoded"""


class DracoReader:
    """Decompresses each buffer view once."""

    def __init__(self, buffers: Buffers, accessors: Accessors, budget: Budget) -> None:
        self._buffers = buffers
        self._accessors = accessors
        self._budget = budget
        self._decoded: dict[int, Any] = {}
        self._is_installed = draco_is_installed()

    def read(self, primitive: Item, attributes: Item) -> Packed | None:
        """None where the primitive is not compressed, or where the file holds its vertices uncompressed, too."""
        extension = primitive.extension(DRACO)
        if extension is None:
            return None
        position = attributes.needed_index("POSITION", len(self._accessors), "accessor")
        if not self._is_installed:
            if self._accessors.has_bytes(position):
                return None
            raise primitive.fail(SEM_EXTENSION_UNKNOWN, "extensions", name=DRACO, effect=advice(DRACO))
        claimed = self._accessors.count(position)
        mesh = self._mesh(extension, claimed)
        identities = extension.child("attributes") or Item({}, extension.at("attributes"))
        columns: dict[str, Array] = {}
        for name in identities.value:
            found = mesh.get_attribute_by_unique_id(identities.integer(name))
            if found is None:
                raise identities.fail(STRUCT_SYNTAX, name, wanted="the number of an attribute", found="another number")
            columns[name] = np.asarray(found["data"]).reshape(-1, found["num_components"])
            if len(columns[name]) != claimed:
                wanted = f"{claimed} vertices, as its accessor says"
                raise identities.fail(STRUCT_SYNTAX, name, wanted=wanted, found=f"{len(columns[name])}")
        triangles = np.asarray(getattr(mesh, "faces", np.empty((0, 3))), np.int64).reshape(-1, 3)
        highest = int(triangles.max(initial=-1))
        if highest >= claimed:
            args = {"what": "corner", "item": int(np.argmax(triangles)), "kind": "vertex"}
            raise primitive.fail(LINK_INDEX_OUT_OF_RANGE, "extensions", **args, index=highest, count=claimed)
        return Packed(triangles, columns)

    def _mesh(self, extension: Item, claimed: int) -> Any:
        view = extension.needed_index("bufferView", self._buffers.view_count, "buffer view")
        if view not in self._decoded:
            content = bytes(self._buffers.view(view)[0])
            self._budget.grant("copies", _WORTH * len(content))
            self._budget.spend("copies", 3 * claimed, extension.at("bufferView"), "vertices")
            self._decoded[view] = self._decode(extension, content)
        return self._decoded[view]

    @staticmethod
    def _decode(extension: Item, content: bytes) -> Any:
        try:
            return import_module("DracoPy").decode(content)
        except Exception as error:  # its own kinds for some faults, ValueError and RuntimeError for others
            found = str(error) or type(error).__name__
            raise extension.fail(STRUCT_SYNTAX, "bufferView", wanted="a Draco mesh", found=found[:80]) from None
