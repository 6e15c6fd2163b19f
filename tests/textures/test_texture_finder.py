"""Finding images: the order of guesses, what is reported, and that nothing outside the folders is ever used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.scene import Material, Scene, TextureMap
from keyframer.textures import TextureFinder, TextureMatch, scene_textures


def put(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return folder


def name_and_rule(match: TextureMatch) -> tuple[str | None, str]:
    return (match.path.name if match.path else None), match.how


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("Panels.jpg", ["Panels.jpg", "PANELS.JPG"], ("Panels.jpg", "exact")),
        ("PANELS.JPG", ["Panels.jpg"], ("Panels.jpg", "case")),
        ("PANELS.TGA", ["panels.png", "panels.bmp"], ("panels.png", "extension")),
        ("PANELS", ["panels.png"], ("panels.png", "extension")),
        ("STONEWAL.TGA", ["stonewall_big.tga", "stonewall.png"], ("stonewall_big.tga", "prefix")),
        ("STONEW~1.TGA", ["stonewall.png"], ("stonewall.png", "prefix")),
        ("stonewall_big.tga", ["STONEWAL.TGA"], (None, "missing")),  # not a DOS name: the other is another image
        ("STONE.TGA", ["stonewall.tga"], (None, "missing")),  # five letters: DOS had no reason to cut
        ("stonewall_big.tga", ["stonewall_small.tga"], (None, "missing")),
        ("wood.tga", ["wood.txt"], (None, "missing")),
        ("MAPS\\WOOD.TGA", ["maps/wood.tga"], ("wood.tga", "case")),
        ("MAPS\\WOOD.TGA", ["wood.tga"], ("wood.tga", "case")),
        ("MAPS\\WOOD.TGA", ["maps/other.tga", "wood.tga"], ("wood.tga", "case")),
        ("deep/er/wood.tga", ["deep/wood.tga"], (None, "missing")),
    ],
)
def test_the_order_of_guesses(tmp_path: Path, name: str, files: list[str], expected: tuple[str | None, str]) -> None:
    match = TextureFinder([put(tmp_path, *files)]).find(name)
    assert name_and_rule(match) == expected
    assert match.is_guess == (expected[0] is not None and expected[1] != "exact")


def test_folders_are_searched_in_order_and_subfolders_on_request(tmp_path: Path) -> None:
    scene_folder, given_ = put(tmp_path / "own", "a.png", "sub/deep.png"), put(tmp_path / "given", "A.PNG", "B.PNG")
    finder = TextureFinder([scene_folder, given_])
    assert finder.find("A.PNG").path == scene_folder / "a.png"  # the file's own folder first, even as a guess
    assert finder.find("B.PNG").path == given_ / "B.PNG"
    assert finder.find("deep.png").path is None
    inside = TextureFinder([scene_folder, given_], recursive=True).find("DEEP.png")
    assert inside.path == scene_folder / "sub" / "deep.png"
    assert inside.in_subfolder
    assert "in a subfolder" in str(inside)
    assert [match.name for match in finder.matches] == ["A.PNG", "B.PNG", "deep.png"]


def test_other_candidates_are_listed(tmp_path: Path) -> None:
    match = TextureFinder([put(tmp_path, "wood.png", "wood.jpg", "WOOD.gif")]).find("wood.tga")
    assert name_and_rule(match) == ("wood.png", "extension")
    assert match.others == ("wood.jpg", "WOOD.gif")
    assert match.as_dict() == {
        "name": "wood.tga", "found": "wood.png", "how": "extension", "guess": True, "refusal": None,
        "others": ["wood.jpg", "WOOD.gif"],
    }  # fmt: skip


def test_a_refused_path_is_searched_only_by_its_file_name_inside_the_folders(tmp_path: Path) -> None:
    put(tmp_path, "secret.png")
    folder = put(tmp_path / "models", "wood.tga")
    finder = TextureFinder([folder])
    refused = finder.find("../secret.png")
    assert (refused.path, refused.how) == (None, "missing")
    assert refused.refusal.code == "SEC_PATH_TRAVERSAL"
    theirs = finder.find("C:\\3DS4\\MAPS\\WOOD.TGA")
    assert theirs.path == folder / "wood.tga"
    assert theirs.is_guess
    assert "SEC_PATH_ABSOLUTE" in str(theirs)
    assert finder.find(str(tmp_path / "secret.png")).path is None


def test_links_to_the_outside_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "secret.png", "folder/in.png")
    folder = put(tmp_path / "models", "real.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "inner.png").symlink_to(folder / "real.png")
    (folder / "out").symlink_to(tmp_path / "folder")
    finder = TextureFinder([folder], recursive=True)
    assert finder.find("link.png").path is None
    assert finder.find("inner.png").path == folder / "inner.png"
    assert finder.find("out/in.png").path is None
    assert finder.find("in.png").path is None


def test_a_link_to_the_outside_is_reported_and_the_next_match_is_used(tmp_path: Path) -> None:
    put(tmp_path, "secret.png")
    folder = put(tmp_path / "models", "wood.JPG")
    for name in ("wood.png", "alone.png"):
        (folder / name).symlink_to(tmp_path / "secret.png")
    finder = TextureFinder([folder])
    assert name_and_rule(finder.find("wood.png")) == ("wood.JPG", "extension")
    alone = finder.find("ALONE.PNG")
    assert (alone.path, alone.how) == (None, "outside")
    assert str(alone) == "ALONE.PNG: a link that leads outside the folders, which is not followed"
    (use,) = scene_textures(Scene(materials=[Material("m", maps={"bump": TextureMap("alone.png")})]), finder)
    assert (use.status, use.note) == ("refused", "a link that leads outside the folders, which is not followed")


@pytest.mark.parametrize(
    ("name", "files", "moved"),
    [
        ("maps/wood.png", ["wood.png"], True),
        ("maps/wood.png", ["maps/wood.png", "wood.png"], False),
        ("MAPS\\wood.png", ["maps/wood.png"], False),
        ("wood.png", ["wood.png"], False),
    ],
)
def test_a_match_without_its_folder_is_a_guess(tmp_path: Path, name: str, files: list[str], moved: bool) -> None:
    finder = TextureFinder([put(tmp_path, *files)])
    match = finder.find(name)
    assert (match.how, match.is_guess, match.without_folder) == ("exact", moved, moved)
    assert ("outside the folder in its name" in str(match)) is moved
    (use,) = scene_textures(Scene(materials=[Material("m", maps={"bump": TextureMap(name)})]), finder)
    assert use.rule == ("under its own name, outside the folder in its name" if moved else "under its own name")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_only_files_are_found(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    finder = TextureFinder([tmp_path, tmp_path / "nowhere"])
    assert finder.find("pipe.png").path is None
    assert finder.find("folder.png").path is None


def test_every_map_of_a_scene(tmp_path: Path) -> None:
    first = Material("a", maps={"texture1": TextureMap("WOOD.TGA"), "bump": TextureMap("")})
    scene = Scene(materials=[first, Material("b", maps={"opacity": TextureMap("holes.gif")})])
    uses = scene_textures(scene, TextureFinder([put(tmp_path, "wood.tga")]))
    assert [(use.name, use.users, use.match and use.match.how) for use in uses] == [
        ("WOOD.TGA", ["material a: texture1"], "case"),
        ("holes.gif", ["material b: opacity"], "missing"),
    ]


def test_messages_have_no_control_characters(tmp_path: Path) -> None:
    text = str(TextureFinder([tmp_path]).find("\x1b[31mred\u202e.png"))
    assert text.isprintable()


@given(st.text(max_size=40) | st.lists(st.sampled_from(["..", "/", "\\", "C:", "a.png", "~", "con", "."])).map("".join))
def test_no_name_finds_a_file_outside(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    base = tmp_path_factory.getbasetemp() / "outside"
    folder = base / "inside"
    if not folder.is_dir():
        put(base, "a.png", "inside/a.png", "inside/b.png")
    match = TextureFinder([folder], recursive=True).find(name)
    assert match.path is None or folder in match.path.parents
    str(match)
