"""Small files cost little in every operation: each attack stays within its limits of memory and work.

``make slow`` measures time; here the work is counted: numbers sampled, pixels decoded, bytes written.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.limits import BASE_INPUT_SIZE, Budget, Limits
from tests.formats.threeds.bridge.everything import everything
from tests.hostile.attacks import ATTACKS
from tests.hostile.expense import OPERATIONS, most_growth
from tests.viewer_page import NOT_BUILT

ROOT = Path(__file__).resolve().parents[2]

CASES = [
    *(("one_huge_turn", operation) for operation in ("glb", "view")),
    ("camera_with_a_huge_roll", "glb"),
    ("loops_over_a_long_range", "glb"),
    ("a_long_segment", "hale3d"),
    ("many_nodes_in_a_long_segment", "u3d"),
    ("instances_of_one_mesh", "thumbnail"),
    ("layers_of_glass", "thumbnail"),
    ("morphs_of_many_nodes", "glb"),
    ("pngs_of_8192", "thumbnail"),
    ("images_that_must_be_made_anew", "glb"),
    *(("a_jpeg_of_many_names", operation) for operation in ("info", "glb", "thumbnail", "view")),
    ("bump_maps_of_one_image", "glb"),
    *(("an_icon_of_many_names", operation) for operation in ("info", "glb")),
    ("joints_that_share_components", "sample"),
    ("nodes_of_a_long_animation", "hale3d"),
    ("zeros_without_a_view", "check"),
    ("instances_of_zeros", "3ds"),
    ("primitives_of_the_same_zeros", "check"),
    ("bump_maps", "glb"),
    ("channels_that_share_a_sampler", "plot"),
    ("images_inside", "view"),
    ("ase_to_the_end_of_time", "glb"),
    ("ase_to_the_end_of_time", "rate"),
    *(("a_camera_that_turns_for_days", operation) for operation in ("3ds", "ase", "u3d", "rate", "cut")),
    ("symbols_of_symbols", "info"),
    ("a_chain_of_symbols", "info"),
    ("a_symbol_with_a_long_name", "check"),
    ("elements_with_long_paths", "check"),
    ("a_chain_of_references", "info"),
    ("nodes_of_three_bytes", "ase"),
    ("nodes_of_three_bytes", "diff-self"),
    ("nodes_of_three_bytes", "sample-text"),
    ("nodes_as_many_as_pass", "3ds"),
    ("objects_of_a_show", "ase"),
    ("a_member_of_chunks", "check"),
    ("a_member_of_zeros", "glb"),
    ("many_members", "info"),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_small_files_cost_little() -> None:
    """One test for all cases, because one process measures them."""
    names = [f"{attack}/{operation}" for attack, operation in CASES if operation != "view" or not NOT_BUILT]
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.expense", "--json", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    costs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(costs) == len(names), done.stderr
    assert [cost for cost in costs if not is_cheap(cost)] == []


def is_cheap(cost: dict[str, Any]) -> bool:
    share = max(cost["size"], BASE_INPUT_SIZE) / BASE_INPUT_SIZE
    return (
        cost["growth"] <= most_growth(cost["size"])
        and cost["sampled"] <= Limits().samples * share
        and cost["decoded"] <= Limits().image_bytes * share
        and cost["written"] <= 40_000_000 * share
        and cost["code"] in (0, 1, 3)
        and "Traceback" not in cost["said"]
    )


def test_attacks_are_small_and_cover_every_format() -> None:
    mains = {name: next(iter(make().items())) for name, make in ATTACKS.items()}
    assert [name for name, (_, data) in mains.items() if len(data) > BASE_INPUT_SIZE] == []
    endings = {Path(file).suffix for file, _ in mains.values()}
    assert endings == {".3ds", ".u3d", ".anim", ".mdl", ".nanim", ".ase", ".glb", ".gltf", ".mvr", ".gdtf", ".zip"}
    assert {"glb", "view", "thumbnail", "plot", "sample", "check", "info", "diff"} <= set(OPERATIONS)


@pytest.mark.parametrize("attack", ["nodes_of_three_bytes", "objects_of_a_show", "a_chain_of_references"])
def test_thousands_of_tiny_nodes_load_but_need_a_higher_limit_to_be_written(tmp_path: Path, attack: str) -> None:
    ((name, data),) = ATTACKS[attack]().items()
    (tmp_path / name).write_bytes(data)
    assert len(keyframer.load(tmp_path / name).nodes) > 8_000
    with pytest.raises(keyframer.FormatError, match="nodes would be written") as refused:
        keyframer.convert(tmp_path / name, tmp_path / "out.3ds")
    assert (refused.value.code, refused.value.path) == ("LIMIT_NODES", "/nodes")
    keyframer.convert(tmp_path / name, tmp_path / "out.glb")


def test_scenes_built_in_code_may_have_many_nodes(tmp_path: Path) -> None:
    scene = keyframer.Scene(nodes=[keyframer.Node(f"n{number}") for number in range(4_000)])
    keyframer.save(scene, tmp_path / "out.3ds")
    assert len(keyframer.load(tmp_path / "out.3ds").nodes) == 4_000


def test_costs_do_not_depend_on_earlier_work(tmp_path: Path) -> None:
    """Caches filled by earlier work in this process do not reduce what is charged."""
    source = tmp_path / "all.3ds"
    source.write_bytes(keyframer.encode(everything()))
    scene = keyframer.load(source, salvage=True)
    works: list[tuple[str, keyframer.Scene | None]] = [(target, None) for target in (".glb", ".3ds")]
    works.append((".glb", scene))  # the same scene again and again

    def cost(work: tuple[str, keyframer.Scene | None]) -> dict[str, int]:
        target, known = work
        budget = Budget()
        with budget.opened():
            given = known or keyframer.load(source, salvage=True)
            keyframer.save(given, tmp_path / f"out{target}", overwrite=True)
        return budget.spent

    first = [cost(work) for work in works]
    again = [cost(work) for work in reversed(works)]
    assert first == again[::-1]
    assert min(spent["samples"] for spent in first) > 0
