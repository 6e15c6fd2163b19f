"""Declare once which fields of a scene a format stores, and how its records store them.

A table of `Field` is used for reading (`read_declared_fields`) and writing (`write_declared_fields`). `Capabilities`
combines these tables. Loss reports (`unsupported_features`) and a table in docs/converting.md are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

R = TypeVar("R")
S = TypeVar("S")

FEATURES = {
    "parents": "parents of nodes",
    "names": "names of meshes, cameras, lights and skins, if equal to the name of their node",
    "dummies": "dummies",
    "hidden nodes": "hidden nodes",
    "pivots": "pivots",
    "scale axes": "scale axes of nodes",
    "meshes": "meshes",
    "smoothing": "smoothing groups",
    "vertex colours": "vertex colours",
    "vertex alpha": "opacity of vertex colours",
    "second coordinates": "a second set of texture coordinates",
    "normals": "normals as stated, if smoothing groups do not say them",
    "cast shadows": "meshes that cast no shadows",
    "received shadows": "meshes that receive no shadows",
    "morphs": "morphs",
    "skins": "skins",
    "materials": "materials",
    "textures": "texture maps",
    "other maps": "other maps",
    "cameras": "cameras",
    "lights": "lights",
    "environment": "background, fog, ambient light",
    "title": "title",
    "author": "author",
    "copyright": "copyright",
    "segment": "active segment",
    "frames": "a value for each frame",
    "bounds": "a bounding box for each frame",
    "raw channels": "raw channels",
    # kinds of tracks
    "scale_axes": "scale axes tracks",
    "visible": "visibility tracks",
    "fov": "field of view tracks",
    "roll": "roll tracks",
    "color": "light colour tracks",
    "multiplier": "brightness tracks",
    "hotspot": "hotspot tracks (bright cone)",
    "falloff": "falloff tracks (outer cone)",
}
"""kinds of features that a format may store: the words of `Capabilities.features` and their meaning"""


@dataclass(eq=False, repr=False, slots=True)
class Field(Generic[R, S]):
    """One attribute of a part of a scene."""

    name: str
    get: Callable[[R], Any]
    """returns the value from the record of the part"""
    put: Callable[[Any], list[S]]
    """returns what stores a value: lines, chunks, or fields of the record"""
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(eq=False, repr=False, slots=True)
class FieldGroup(Generic[R, S]):
    """Attributes of a part of a scene that records only store together."""

    names: tuple[str, ...]
    get: Callable[[R], tuple[Any, ...]]
    """returns the values from the record of the part"""
    put: Callable[..., list[S]]
    """returns what stores the values: lines, chunks, or fields of the record"""
    needs: tuple[str, ...] = ()
    """further attributes that ``put`` takes, after the values"""


@dataclass(eq=False, repr=False, slots=True)
class StoredAs:
    """Attributes of a part of a scene that have no place of their own in its record."""

    names: tuple[str, ...]
    what: str
    """what a file has instead: ``the matrix of the node``"""


def read_declared_fields(part: Any, record: R, fields: Iterable[Field[R, S] | FieldGroup[R, S]]) -> None:
    """Set the attributes of a part from its record."""
    for declared in fields:
        if isinstance(declared, FieldGroup):
            for name, value in zip(declared.names, declared.get(record), strict=True):
                setattr(part, name, value)
        else:
            setattr(part, declared.name, declared.get(record))


def write_declared_fields(part: Any, fields: Iterable[Field[R, S] | FieldGroup[R, S]]) -> list[S]:
    """Return what stores the attributes of a part (lines, chunks, fields of a record), in the order of the table."""
    stored: list[S] = []
    for declared in fields:
        stored += declared.put(*(getattr(part, name) for name in (*declared.names, *declared.needs)))
    return stored


@dataclass(frozen=True)
class Capabilities:
    """The features and fields that files of a format store.

    All others are reported as dropped, including fields that are added to the model later.
    """

    features: tuple[str, ...]
    """words of `FEATURES`"""
    declared: Mapping[str, Iterable[Field[Any, Any] | FieldGroup[Any, Any] | StoredAs]] = field(default_factory=dict)
    """tables of fields, by part: ``materials``, ``maps``, ``lights``, ``cameras``"""
    reported: tuple[str, ...] = ()
    """fields that files do not store and that the writer reports itself: ``lights.projector``"""

    @cached_property
    def supported(self) -> frozenset[str]:
        """Return the stored features, and the stored fields as ``materials.shininess``."""
        fields = {f"{part}.{name}" for part, table in self.declared.items() for row in table for name in row.names}
        return frozenset({*self.features, *fields})

    @cached_property
    def handled(self) -> frozenset[str]:
        """Return the features and fields that `unsupported_features.report_dropped` does not report."""
        return self.supported | set(self.reported)
