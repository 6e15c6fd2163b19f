"""The snippets of docs/howto/pipeline.md do what the page says, in the programs that they are for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import keyframer
from tests.docs.test_snippets import ROOT, blocks_of

PAGE = "howto/pipeline.md"
SAMPLES = ROOT / "tests" / "samples" / "3ds"
DAMAGED = (ROOT / "examples/windmill.3ds").read_bytes()[:5160]
SCENES = ["first disc/project.prj", "first disc/windmill.3ds", "library.mli", "TRACKS.3DS", "turning.vue"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with scenes in ``in``, and the command ``keyframer`` of this checkout in ``bin``."""
    (tmp_path / "in" / "first disc").mkdir(parents=True)
    sources = ["project.prj", "windmill.3ds", "library.mli", "tracks.3ds", "../vue/turning.vue"]
    for source, name in zip(sources, SCENES, strict=True):
        shutil.copy(SAMPLES / source, tmp_path / "in" / name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "keyframer").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m keyframer "$@"\n')
    (tmp_path / "bin" / "keyframer").chmod(0o755)
    return tmp_path


def run(folder: Path, *command: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), **variables}
    place = folder if cwd is None else cwd
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def block_with(language: str, words: str) -> str:
    (block,) = [block for block in blocks_of(PAGE, language) if words in block]
    return block


def single_runs(folder: Path) -> dict[str, tuple[bytes, bytes]]:
    """Return GLB and picture of each scene, made one by one; each GLB loads and has the nodes of its scene."""
    made = {}
    for name in SCENES:
        for command in (
            ["convert", "-qf", f"in/{name}", "one.glb"],
            ["thumbnail", "-qf", f"in/{name}", "-o", "one.png"],
        ):
            assert run(folder, "keyframer", *command).returncode == 0
        made[name] = ((folder / "one.glb").read_bytes(), (folder / "one.png").read_bytes())
        names = {node.name for node in keyframer.load(folder / "in" / name).nodes}
        assert names <= {node.name for node in keyframer.load(folder / "one.glb").nodes}
    return made


def test_snakefile_makes_what_single_runs_make(folder: Path) -> None:
    (folder / "in" / "cut.3ds").write_bytes(DAMAGED)
    (folder / "Snakefile").write_text(block_with("py", "rule all"))
    command = block_with("sh", "snakemake").split()
    assert command[0] == "snakemake"
    command += ["--scheduler", "greedy"]  # the default starts a solver that does not run everywhere
    ran = run(folder, sys.executable, "-m", *command)
    assert ran.returncode == 1, ran.stderr  # one file is damaged; the others are made
    for name, (glb, picture) in single_runs(folder).items():
        assert (folder / "out" / f"{name}.glb").read_bytes() == glb, name
        assert (folder / "out" / f"{name}.png").read_bytes() == picture, name
        (entry,) = json.loads((folder / "out" / f"{name}.json").read_text())["files"]
        assert entry["written"] == [f"out/{name}.glb"]
    assert "STRUCT_TRUNCATED" in (folder / "out" / "cut.3ds.glb.log").read_text()
    assert {path.name for path in (folder / "out").glob("cut.*")} == {"cut.3ds.glb.log", "cut.3ds.png.log"}
    (folder / "in" / "cut.3ds").unlink()
    again = run(folder, sys.executable, "-m", *command)
    assert again.returncode == 0, again.stderr
    assert "Nothing to be done" in again.stdout + again.stderr


def test_array_makes_what_one_run_makes(folder: Path) -> None:
    script = block_with("sh", "#SBATCH --array")
    (folder / "array.sh").write_text(script)
    tasks = re.search(r"--array=(\d+)-(\d+)", script)
    assert tasks is not None
    for task in reversed(range(int(tasks[1]), int(tasks[2]) + 1)):
        ran = run(folder, "bash", "array.sh", SLURM_ARRAY_TASK_ID=str(task), SLURM_CPUS_PER_TASK="1")
        assert (ran.returncode, ran.stderr) == (0, "")
    for operation in ("convert", "thumbnail"):
        assert run(folder, "keyframer", "batch", "-q", operation, "in", "-o", "once", "-j", "1").returncode == 0
    shards, once = (
        {str(path.relative_to(folder / out)): path.read_bytes() for path in (folder / out).rglob("*.[gp][ln][bg]")}
        for out in ("out", "once")
    )
    assert shards == once
    assert len(shards) == 2 * len(SCENES)
    for scene in [keyframer.load(folder / "out" / name) for name in shards if name.endswith(".glb")]:
        assert scene.nodes or scene.materials
    (folder / "in" / "cut.3ds").write_bytes(DAMAGED)
    codes = [
        run(folder, "bash", "array.sh", SLURM_ARRAY_TASK_ID=str(task), SLURM_CPUS_PER_TASK="1").returncode
        for task in range(int(tasks[1]), int(tasks[2]) + 1)
    ]
    assert sorted(codes) == [0, 0, 0, 3]
    (report,) = re.findall(r"^keyframer (.*?)  +#", block_with("sh", "sbatch array.sh"), re.MULTILINE)
    failed = run(folder, "keyframer", *report.split()).stdout
    assert failed.count("cut.3ds") == 2
    assert "windmill" not in failed


def test_script_of_the_nextflow_process(folder: Path) -> None:
    """What Nextflow runs: the script in a folder with links to the inputs, their names escaped for the shell."""
    block = block_with("groovy", "process keyframer")
    (script,) = re.findall(r'"""\n(.*?)"""', block, re.DOTALL)
    Image.new("RGB", (4, 4)).save(folder / "in" / "STONE.PNG")
    task = folder / "task"
    task.mkdir()
    (task / "in").symlink_to(folder / "in")
    (task / "the mill.3ds").symlink_to(ROOT / "examples/windmill.3ds")
    ran = run(
        folder, "bash", "-ue", "-c", script.replace("${scene}", r"the\ mill.3ds").replace("${images}", "in"), cwd=task
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    outputs = re.findall(r"path '(\*\.\w+)'", block)
    assert [[path.name for path in task.glob(pattern)] for pattern in outputs] == [
        ["the mill.3ds.glb"],
        ["the mill.3ds.json"],
        ["the mill.3ds.png"],
    ]
    (entry,) = json.loads((task / "the mill.3ds.json").read_text())["files"]
    assert "IMAGE_MISSING" not in entry["counts"]  # it is in the other folder
    assert len(keyframer.load(task / "the mill.3ds.glb").nodes) == len(keyframer.load(task / "the mill.3ds").nodes)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed (make peers)")
def test_entry_of_the_table_of_converters(folder: Path) -> None:
    """The two modules are loaded beside classes of the shape that such a table has, and the command is run."""
    (folder / "package.json").write_text('{"type": "module"}')
    for kind, place, name in (("Program", "program", "keyframer"), ("Format", "format", "threeDStudioProject")):
        (folder / "src" / place / "poly").mkdir(parents=True)
        (folder / "src" / f"{kind}.js").write_text(f"export class {kind} {{}}\n")
        (folder / "src" / place / "poly" / f"{name}.js").write_text(block_with("js", f"class {name} extends {kind}"))
    (folder / "ask.js").write_text("""
import { keyframer } from "./src/program/poly/keyframer.js";
import { threeDStudioProject } from "./src/format/poly/threeDStudioProject.js";
const program = new keyframer(), format = new threeDStudioProject();
const args = await program.args({ inFile: () => process.argv[2], outFile: async (name) => name });
const known = format.converters[0] === program.constructor.name && format.magic[0].test("fmt/1831 3D Studio Project");
console.log(JSON.stringify([known, program.bin, ...args]));
""")
    (folder / "in" / "cut.3ds").write_bytes(DAMAGED)
    for name, code in {"first disc/project.prj": 0, "library.mli": 0, "cut.3ds": 1}.items():
        asked = run(folder, "node", "ask.js", f"in/{name}")
        assert asked.returncode == 0, asked.stderr
        known, *command = json.loads(asked.stdout)
        assert known
        assert run(folder, *command).returncode == code
        assert keyframer.load(folder / "out.glb").materials


def test_which_files_come_out(folder: Path) -> None:
    """The rows of the page: what is converted, what has only curves, what is refused."""
    for name, shapes in (("shapes.shp", 2), ("loft.lft", 3)):
        (folder / "in" / name).write_bytes((ROOT / "tests/samples/3ds" / name).read_bytes())
        listed = run(folder, "keyframer", "info", "--table", "shapes", "--format", "json", f"in/{name}")
        assert len(json.loads(listed.stdout)["files"][0]["tables"]["shapes"]) == shapes
    (folder / "in/map.prj").write_text('GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984"]]')
    (folder / "in/map.shp").write_bytes(bytes.fromhex("0000270a") + bytes(96))
    for name in ("map.prj", "map.shp"):
        assert run(folder, "keyframer", "convert", f"in/{name}", "refused.glb").returncode == 3
    assert not (folder / "refused.glb").exists()
    read = set(re.findall(r"\.\w+", run(folder, "keyframer", "formats").stdout))
    assert read >= {".3ds", ".prj", ".mli", ".shp", ".lft", ".vue", ".b3d", ".ase", ".md5mesh", ".u3d"}
    (entry,) = json.loads(run(folder, "keyframer", "identify", "--format", "json", f"in/{SCENES[0]}").stdout)["files"]
    assert entry["pronom"] == "fmt/1831"


def test_commands_of_the_page_open_no_socket_and_start_no_program(folder: Path) -> None:
    """Python tells an audit hook of each; a library of a graphics card would be loaded by ``ctypes.dlopen``."""
    (folder / "ask.py").write_text("""
import sys
seen = []
watched = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "ctypes.dlopen")
sys.addaudithook(lambda event, args: event.startswith(watched) and seen.append([event, str(args)]))
from keyframer.cli import main
scene = "in/first disc/windmill.3ds"
codes = [main(["convert", "-q", scene, "a.glb"]), main(["thumbnail", "-q", scene, "-o", "a.png"])]
print([codes, [each for each in seen if each != ["ctypes.dlopen", "(None,)"]]])
""")
    ran = run(folder, sys.executable, "ask.py")
    assert ran.stdout.strip() == "[[0, 0], []]", ran.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory differ elsewhere")
def test_limit_of_the_system_leaves_no_output(folder: Path) -> None:
    """The limits of ``batch`` and their codes are in tests/batch."""
    limited = "ulimit -v 60000; keyframer convert -q 'in/first disc/windmill.3ds' a.glb"
    assert run(folder, "sh", "-c", limited).returncode != 0
    assert not (folder / "a.glb").exists()
