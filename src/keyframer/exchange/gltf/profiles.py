"""What engines take of glTF: the rules of Luanti, for checking files and for writing them.

The rules are those of its ``doc/lua_api.md``, and of its loader, which refuses more than the text says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from keyframer.catalogue import PROFILE_IGNORED, PROFILE_REFUSED
from keyframer.issues import IssueLog
from keyframer.text import counted

MOST_VERTICES = 65_534
"""vertices of a primitive: numbers of 16 bits, without the largest"""
_INDEX_TYPES, _WEIGHT_TYPES = (5121, 5123, 5125), (5121, 5123, 5126)


class Finding(NamedTuple):
    """What an engine does not take."""

    is_refused: bool
    """whether the whole file is refused, or only this part ignored"""
    path: str
    reason: str


def check(root: Any, profile: str, issues: IssueLog) -> None:
    """Add what an engine does not take to the issues of a file; ``root`` is its JSON."""
    engine = profile.capitalize()
    for finding in findings(root):
        kind = PROFILE_REFUSED if finding.is_refused else PROFILE_IGNORED
        issues.add(kind, finding.path, 0, engine=engine, reason=finding.reason)


def findings(root: dict[str, Any]) -> Iterator[Finding]:
    """Yield what Luanti does not take."""
    if root.get("extensionsRequired"):
        yield Finding(True, "/extensionsRequired", f"it requires {', '.join(map(str, root['extensionsRequired']))}")
    for name in ("nodes", "accessors", "bufferViews", "buffers"):
        if not root.get(name):
            yield Finding(True, "/", f"it has no {name}")
    accessors = _objects(root, "accessors")
    yield from _meshes(root, accessors)
    yield from _animations(root)
    if root.get("images"):
        yield Finding(False, "/images", "images are supplied by the textures of an object")
    if root.get("cameras"):
        yield Finding(False, "/cameras", "it has no cameras in models")


def _meshes(root: dict[str, Any], accessors: list[dict[str, Any]]) -> Iterator[Finding]:
    for number, mesh in enumerate(_objects(root, "meshes")):
        for index, primitive in enumerate(_objects(mesh, "primitives")):
            path, attributes = f"/meshes/{number}/primitives/{index}", primitive.get("attributes", {})
            vertices = _accessor(accessors, attributes.get("POSITION")).get("count", 0)
            if vertices > MOST_VERTICES:
                yield Finding(True, path, f"{counted(vertices, 'vertex')}, more than {MOST_VERTICES}")
            kind = _accessor(accessors, primitive.get("indices")).get("componentType", _INDEX_TYPES[0])
            if kind not in _INDEX_TYPES:
                yield Finding(True, path, f"indices of type {kind}")
            for name, allowed in (("TEXCOORD_0", _WEIGHT_TYPES), ("WEIGHTS_0", _WEIGHT_TYPES)):
                kind = _accessor(accessors, attributes.get(name)).get("componentType", 5126)
                if kind not in allowed:
                    yield Finding(True, path, f"{name} of type {kind}")
            for name in ("POSITION", "NORMAL"):
                kind = _accessor(accessors, attributes.get(name)).get("componentType", 5126)
                if kind != 5126:
                    yield Finding(True, path, f"{name} of type {kind}: only floats are read")
            if primitive.get("targets"):
                yield Finding(False, path, "it has no morph targets")


def _animations(root: dict[str, Any]) -> Iterator[Finding]:
    nodes = _objects(root, "nodes")
    for number, animation in enumerate(_objects(root, "animations")):
        path = f"/animations/{number}"
        if number:
            yield Finding(False, path, "only one animation is played: use ranges of it")
        for index, sampler in enumerate(_objects(animation, "samplers")):
            if sampler.get("interpolation") == "CUBICSPLINE":
                yield Finding(True, f"{path}/samplers/{index}", "CUBICSPLINE keys")
        for index, channel in enumerate(_objects(animation, "channels")):
            target = channel.get("target", {})
            node = target.get("node")
            if node is None:
                yield Finding(True, f"{path}/channels/{index}", "the channel has no node")
            elif target.get("path") == "weights":
                yield Finding(True, f"{path}/channels/{index}", "morph targets are animated")
            elif type(node) is int and 0 <= node < len(nodes) and "matrix" in nodes[node]:
                yield Finding(False, f"{path}/channels/{index}", "the animated node has a matrix")


def _objects(owner: dict[str, Any], name: str) -> list[dict[str, Any]]:
    values = owner.get(name)
    return [value if isinstance(value, dict) else {} for value in values] if isinstance(values, list) else []


def _accessor(accessors: list[dict[str, Any]], number: Any) -> dict[str, Any]:
    return accessors[number] if type(number) is int and 0 <= number < len(accessors) else {}
