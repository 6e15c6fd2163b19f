"""Unusual glTF in the viewer: valid JSON, no warnings, and a message if there is no scene."""

from __future__ import annotations

import copy
import json
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.viewer import packed_page
from tests.building.gltf import glb, split_glb
from tests.fuzz.mutating import Input
from tests.fuzz.operations import Place, view
from tests.viewer.foreign_gltf import write_foreign
from tests.viewer.opening import EXAMPLE, assets, viewed

Root = dict[str, Any]


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> tuple[Root, bytes]:
    """Write an exported file without its extras: animation is only in accessors, as in files of other programs."""
    path = tmp_path_factory.mktemp("mill") / "a.glb"
    keyframer.save(keyframer.load(EXAMPLE), path, core_only=True)
    return split_glb(path.read_bytes())


def _accessor(root: Root, role: str) -> Root:
    sampler = root["animations"][0]["samplers"][0]
    accessor: Root = root["accessors"][sampler[role]]
    return accessor


def _swap_roles(root: Root) -> None:
    sampler = root["animations"][0]["samplers"][0]
    sampler["input"], sampler["output"] = sampler["output"], sampler["input"]


ODD: dict[str, Callable[[Root], object]] = {
    "no nodes": lambda root: root.update(nodes=[], scenes=[]),
    "null nodes": lambda root: root.update(nodes=[None, *root["nodes"]]),
    "names that are numbers": lambda root: [node.update(name=7) for node in root["nodes"]],
    "a circle": lambda root: root["nodes"][0].update(children=[0]),
    "fewer values than times": lambda root: _accessor(root, "output").update(count=1),
    "no times": lambda root: _accessor(root, "input").update(count=0),
    "times and values swapped": _swap_roles,
    "a huge count": lambda root: _accessor(root, "input").update(count=2**40),
    "null columns": lambda root: root["animations"][0].update(samplers=[None]),
    "no channels": lambda root: root["animations"][0].update(channels=[]),
    "a target that is not there": lambda root: root["animations"][0]["channels"][0]["target"].update(node=10**6),
    "another path": lambda root: root["animations"][0]["channels"][0]["target"].update(path="\u202e<b>"),
    "numbers that are none": lambda root: root["nodes"][0].update(translation=[1e400, -1e400, 0]),
    "a matrix of zeros": lambda root: root["nodes"][0].update(matrix=[0.0] * 16),
    "cameras without a view": lambda root: root.update(cameras=[{"type": "perspective"}]),
    "meshes without positions": lambda root: [
        primitive.update(attributes={}) for mesh in root["meshes"] for primitive in mesh["primitives"]
    ],
}


def _looked_at(data: bytes, tmp_path: Path) -> None:
    """Request everything that the page requests, and export the page."""
    place = Place(tmp_path / "place", Input("gltf", ".glb", data))
    view(place)
    page = packed_page(viewed(place.path), assets(tmp_path))
    assert page.startswith(b"<!doctype html>")


@pytest.mark.parametrize("odd", ODD)
def test_unusual_values(odd: str, mill: tuple[Root, bytes], tmp_path: Path) -> None:
    root = copy.deepcopy(mill[0])
    ODD[odd](root)
    text = json.dumps(root).replace("Infinity", "1e400")
    _looked_at(glb(text.encode(), mill[1]), tmp_path)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 3e38, 1e-40])
def test_non_finite_numbers_in_buffers(number: float, mill: tuple[Root, bytes], tmp_path: Path) -> None:
    root, binary = mill
    for role in ("input", "output"):
        view_number = _accessor(root, role)["bufferView"]
        start = root["bufferViews"][view_number].get("byteOffset", 0) + _accessor(root, role).get("byteOffset", 0)
        _looked_at(glb(root, binary[: start + 4] + struct.pack("<f", number) + binary[start + 8 :]), tmp_path)


def test_issues_match_those_of_check(tmp_path: Path) -> None:
    """Also if nothing can be played: each part that cannot be read."""
    path = write_foreign(tmp_path, "glb")
    data = path.read_bytes()
    path.write_bytes(
        data.replace(b'"componentType": 5126, "type": "VEC4"', b'"componentType": 9999, "type": "VEC4"').replace(
            b'"type": "perspective"', b'"type": "perspectiva"'
        )
    )
    wanted = [(issue.code, issue.offset) for issue in keyframer.check(path).issues]
    assert len(wanted) > 1
    (file,) = viewed(path)
    info = json.loads(file.scene())
    assert info["model"] is False
    assert [(entry["code"], entry["offset"]) for entry in info["issues"]] == wanted
    assert json.loads(file.records())["total"] == 0


def test_damaged_files_are_still_described(tmp_path: Path) -> None:
    """Whatever number, word or byte changes, every request of the page gets an answer."""
    rng = random.Random(12)
    whole = write_foreign(tmp_path, "glb").read_bytes()
    path, played = tmp_path / "damaged.glb", 0
    values = list(re.finditer(rb'(?<=[:,\[] )(-?[0-9.]+|"[A-Za-z0-9_]+")', whole))
    for _ in range(80):
        data = bytearray(whole)
        for value in rng.choices(values, k=rng.randint(1, 3)):
            begin, end = value.span()
            other = rng.choice((b"0", b"-1", b"99999", b"null", b"[]", b"{}", b'"x"', b"1.5", b"true"))
            data[begin:end] = other[: end - begin].ljust(end - begin)
        data[rng.randrange(len(data) - 400, len(data))] ^= rng.randrange(256)  # one of the numbers
        path.write_bytes(data)
        for arguments in ((), ("--salvage",)):
            (file,) = viewed(path, *arguments)
            played += json.loads(file.scene())["model"]
            file.records()
            assert all(file.record_page(number) for number in range(file.page_count))
            assert all(file.track(number) for number in range(file.track_count))
    assert played > 10  # and is not only refused
