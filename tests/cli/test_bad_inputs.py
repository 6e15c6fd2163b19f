"""One bad input costs one line and exit code 3, and all other inputs are processed. The same holds for a full or
closed stdout."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import keyframer
from keyframer.batch.job import LEDGER
from keyframer.cli.parser import COMMANDS
from keyframer.errors import FormatError
from keyframer.files.zip_archives import Archive
from tests.batch.places import GOOD, OTHER
from tests.cli.running import EXAMPLE, START, Run
from tests.portable import needs_linux

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and descriptors")

COMMANDS_FOR_MANY: dict[str, Callable[[Path, str], list[str]]] = {
    "identify": lambda out, given: ["identify", given],
    "info": lambda out, given: ["info", "--format", "csv", given],
    "dump": lambda out, given: ["dump", given, "-o", f"{out}/"],
    "plot": lambda out, given: ["plot", given, "-o", f"{out}/"],
    "convert": lambda out, given: ["convert", given, f"{out}/"],
    "thumbnail": lambda out, given: ["thumbnail", "--size", "16", given, "-o", f"{out}/"],
    "batch": lambda out, given: ["batch", "identify", given, "-o", str(out), "-j", "1"],
}
many = pytest.mark.parametrize("command", COMMANDS_FOR_MANY)


def archive_with(path: Path, name: str, *, packed: int = zipfile.ZIP_STORED) -> Path:
    """Write an archive with ``name`` as its first member and a valid second one."""
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr(name or zipfile.ZipInfo(name), GOOD)
        archive.writestr("zz.nanim", OTHER)
    return path


def is_processed(out: Path, ran_out: str, name: str) -> bool:
    """Return whether the name appears in the printed output or among the written files."""
    return name in ran_out or any(
        name in str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and LEDGER not in path.name
    )


@many
def test_archive_member_without_a_name(run: Run, tmp_path: Path, command: str) -> None:
    given = archive_with(tmp_path / "a.zip", "")
    ran = run(*COMMANDS_FOR_MANY[command](tmp_path / "out", str(given)))
    assert ran.code == 3
    assert ran.err.count("a member of the archive has no name\n") == 1
    assert is_processed(tmp_path / "out", ran.out, "zz")


@many
def test_damaged_archive_member(run: Run, tmp_path: Path, command: str) -> None:
    for packed in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED):
        given = archive_with(tmp_path / f"{packed}.zip", "a.nanim", packed=packed)
        data = bytearray(given.read_bytes())
        data[60:90] = bytes(30)
        given.write_bytes(data)
        ran = run(*COMMANDS_FOR_MANY[command](tmp_path / f"out{packed}", str(given)))
        assert ran.code == 3
        assert ran.err.count("a.nanim: cannot be read from the archive: ") == 1
        assert is_processed(tmp_path / f"out{packed}", ran.out, "zz")


def test_archive_member_that_needs_too_much_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of LZMA may ask for a dictionary of 4 GiB."""
    path = archive_with(tmp_path / "a.zip", "a.nanim")
    archive = Archive(io.BytesIO(path.read_bytes()), path.stat().st_size)

    def out_of_memory(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(zipfile.ZipExtFile, "read", out_of_memory)
    with pytest.raises(FormatError, match=r"IO_READ_FAILED: .*: unpacking it needs more memory"):
        archive.read(archive.members[0])


def test_members_of_an_archive_share_one_budget(run: Run, tmp_path: Path) -> None:
    """Otherwise an archive of many expensive files could cost many times what one file of its size may."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("a.3ds", "b.3ds"):
            archive.writestr(name, EXAMPLE.read_bytes())
    faces = sum(len(mesh.corners) for mesh in keyframer.load(EXAMPLE).meshes)
    arguments = ("--size", "16", "--camera", "fit", "--limit", f"faces={faces * 3 // 2}")
    assert run("thumbnail", EXAMPLE, "-o", tmp_path / "one.png", *arguments).code == 0
    ran = run("thumbnail", tmp_path / "a.zip", "-o", f"{tmp_path / 'out'}/", *arguments)
    assert ran.code == 3
    assert "a.zip!/b.3ds: LIMIT_FACES" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.3ds.png"]


@many
def test_archive_member_that_looks_like_a_url(run: Run, tmp_path: Path, command: str) -> None:
    given = archive_with(tmp_path / "a.zip", "http://127.0.0.1:9/a.nanim")
    ran = run(*COMMANDS_FOR_MANY[command](tmp_path / "out", str(given)))
    assert ran.code == 0, ran.err
    assert is_processed(tmp_path / "out", ran.out, "127.0.0.1:9/a")
    assert is_processed(tmp_path / "out", ran.out, "zz")


@many
def test_two_archive_members_with_the_same_name(run: Run, tmp_path: Path, command: str) -> None:
    """Both are read. If both need the same output, the second is refused, even with ``-f``: no output is lost
    silently."""
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, data in (("a.nanim", GOOD), ("a.nanim", OTHER), ("zz.nanim", OTHER)):
            archive.writestr(name, data)
    arguments = COMMANDS_FOR_MANY[command](tmp_path / "out", str(tmp_path / "a.zip"))
    ran = run(*arguments, *(["-f"] if "-o" in arguments or command == "convert" else []))
    assert is_processed(tmp_path / "out", ran.out, "zz")
    if command in ("identify", "info", "batch"):  # batch gives the second another name, and reports it
        assert ran.code == 0, ran.err
        return
    assert ran.code == 3
    (line,) = [line for line in ran.err.splitlines() if "is already the output of" in line]
    assert "a.zip!/a.nanim: " in line


@posix
@many
@pytest.mark.parametrize("how", ["folder", "glob"])
def test_special_files_among_the_inputs(run: Run, tmp_path: Path, command: str, how: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "zz.nanim").write_bytes(OTHER)
    os.mkfifo(folder / "fifo.nanim")
    (folder / "device.nanim").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()
        os.chdir(folder)  # the path of a socket must be short
        try:
            listening.bind("socket.nanim")
        finally:
            os.chdir(before)
    given = str(folder) if how == "folder" else f"{folder}/*.nanim"
    arguments = COMMANDS_FOR_MANY[command](tmp_path / "out", given)
    ran = run(*arguments, *(["-r"] if how == "folder" and command != "batch" else []))  # batch always goes below
    assert ran.code == 3
    for name in ("fifo", "device", "socket"):
        assert ran.err.count(f"{name}.nanim: not a regular file\n") == 1
    assert is_processed(tmp_path / "out", ran.out, "zz")


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ["identify"],
        ["info"],
        ["dump"],
        ["sample", "--times", "0"],
        ["plot"],
        ["thumbnail"],
        ["identify", "--files-from"],
        ["diff", str(EXAMPLE)],
    ],
)
def test_device_as_an_input_is_refused(run: Run, arguments: list[str]) -> None:
    ran = run(*arguments, "/dev/zero")
    assert ran.code == 3
    assert ran.err == "keyframer: /dev/zero: not a regular file\n"


@posix
@pytest.mark.parametrize("what", ["pipe", "missing"])
@pytest.mark.parametrize("command", ["convert", "batch"])
def test_file_of_an_option_that_cannot_be_read(run: Run, tmp_path: Path, command: str, what: str) -> None:
    """A pipe without a writer is not waited for, and the message names the file that cannot be read."""
    other = tmp_path / "other.3ds"
    if what == "pipe":
        os.mkfifo(other)
    arguments = [command, *(["convert"] if command == "batch" else []), EXAMPLE, "-o", tmp_path / "out"]
    ran = run(*arguments, *(["--to", "gltf"] if command == "convert" else ["-j", "1"]), "--merge", other)
    assert ran.code == 3
    reason = "cannot be read: not a regular file" if what == "pipe" else "no such file"
    assert f"{EXAMPLE}: {other}: {reason}\n" in ran.err


@posix
def test_process_substitution_can_be_read() -> None:
    """``keyframer identify <(cat scene.3ds)`` passes the name of one of our own descriptors."""
    reading, writing = os.pipe()
    os.write(writing, GOOD)
    os.close(writing)
    command = [sys.executable, "-c", START, "identify", f"/dev/fd/{reading}"]
    ran = subprocess.run(command, capture_output=True, pass_fds=(reading,), check=False)
    os.close(reading)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"node animation" in ran.stdout


PRINTING = {
    "identify": ["identify", str(EXAMPLE)],
    "info": ["info", str(EXAMPLE)],
    "check": ["check", "-q", str(EXAMPLE)],
    "dump": ["dump", str(EXAMPLE)],
    "build": ["build", "-", "-o", "-"],
    "sample": ["sample", str(EXAMPLE), "--times", "0"],
    "plot": ["plot", str(EXAMPLE), "--terminal"],
    "diff": ["diff", str(EXAMPLE), str(EXAMPLE), "--format", "json"],
    "thumbnail": ["thumbnail", "-q", "--no-textures", "--size", "16", str(EXAMPLE)],
    "batch": ["batch", "--help"],
    "search": ["search", "--help"],
    "formats": ["formats"],
    "setup": ["setup", "--dry-run"],
}
"""what each command prints to stdout; ``convert`` and ``salvage`` print nothing, ``view`` only its address"""


def test_every_command_is_tested_with_a_bad_stdout() -> None:
    assert sorted([*PRINTING, "convert", "salvage", "view"]) == sorted(COMMANDS)


@pytest.fixture(scope="module")
def dumped_example() -> bytes:
    command = [sys.executable, "-c", START, "dump", str(EXAMPLE)]
    return subprocess.run(command, capture_output=True, check=True).stdout


def start_in_shell(
    arguments: list[str], redirected: str, text: bytes, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Start the command as a shell does, with a redirection such as ``> /dev/full`` or ``>&-``."""
    command = ["sh", "-c", f'exec "$0" -c "$@" {redirected}', sys.executable, START, *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False, env={**os.environ, **environment})


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", PRINTING)
def test_full_stdout_is_reported(command: str, dumped_example: bytes) -> None:
    ran = start_in_shell(
        PRINTING[command], "> /dev/full", dumped_example, PYTHONUNBUFFERED="1" if command in ("info", "dump") else ""
    )
    words = b"keyframer: <stdout>: cannot be written: No space left on device\n"
    assert (ran.returncode, ran.stderr) == (3, words)


@posix
@pytest.mark.parametrize("command", PRINTING)
def test_closed_stdout_is_reported(command: str, dumped_example: bytes) -> None:
    ran = start_in_shell(PRINTING[command], ">&-", dumped_example)
    words = b"keyframer: <stdout>: cannot be written: Bad file descriptor\n"
    assert (ran.returncode, ran.stderr) == (3, words)


@posix
@pytest.mark.parametrize("command", PRINTING)
def test_broken_pipe_ends_without_a_message(command: str, dumped_example: bytes) -> None:
    """The exit code is the one that a shell gives to programs ended by SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [sys.executable, "-c", START, *PRINTING[command]],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writing)
        _, stderr = process.communicate(dumped_example if command == "build" else b"")
    assert (process.returncode, stderr) == (141, b"")


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("redirected", ["> /dev/full", ">&-"])
def test_lost_output_outweighs_findings(redirected: str, tmp_path: Path) -> None:
    """A difference that nobody could read is a failure (3), not a difference (1)."""
    other = tmp_path / "other.3ds"
    other.write_bytes(EXAMPLE.read_bytes().replace(b"STONE.PNG", b"BRICK.PNG"))
    arguments = ["diff", str(EXAMPLE), str(other), "--what", "structure"]
    assert start_in_shell(arguments, "", b"").returncode == 1
    assert start_in_shell(arguments, redirected, b"").returncode == 3


WRITES_TWICE = """
import os, sys
from keyframer.cli.exit_handling import run_guarded

def run(arguments):
    print("lost", flush=True)
    os.dup2(os.open(arguments[0], os.O_WRONLY | os.O_CREAT), 1)  # there is space again
    print("the rest", flush=True)
    return 0

sys.exit(run_guarded(run, sys.argv[1:]))
"""


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_nothing_is_written_after_stdout_failed(tmp_path: Path) -> None:
    """Output with a gap would look complete."""
    command = ["sh", "-c", '"$@" > /dev/full', "sh", sys.executable, "-c", WRITES_TWICE, str(tmp_path / "rest")]
    ran = subprocess.run(command, capture_output=True, check=False)
    assert ran.returncode == 3
    assert (tmp_path / "rest").read_bytes() == b""


@posix
def test_broken_pipe_of_stderr_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "bad.3ds").write_bytes(b"bad")
    for name, code in ((str(tmp_path / "bad.3ds"), 3), (str(EXAMPLE), 0)):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-c", START, "info", "-v", name]
        assert subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, check=False).returncode == code
        os.close(writing)


PIPE_SIZE = 4096


@needs_linux
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pipes of a chosen size")
def test_pipe_that_does_not_block_gets_everything() -> None:
    """A full pipe in non-blocking mode is waited for: it is not a failure."""
    import fcntl

    command = [sys.executable, "-c", START, "plot", "-q", str(EXAMPLE)]
    expected = subprocess.run(command, capture_output=True, check=True).stdout
    assert len(expected) > 4 * PIPE_SIZE
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    os.set_blocking(writing, False)
    with subprocess.Popen(command, stdout=writing) as process:
        os.close(writing)
        with open(reading, "rb") as stream:
            received = stream.read()
    assert (process.returncode, received) == (0, expected)


@posix
@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_files_are_written_with_closed_standard_streams(tmp_path: Path, redirected: str) -> None:
    """No output file gets the descriptor of stdout or stderr, so that no message is written into it."""
    for number in range(2):
        (tmp_path / f"{number}.nanim").write_bytes(GOOD if number else b"")
    ran = start_in_shell(["convert", "-r", str(tmp_path), f"{tmp_path}/out/"], redirected, b"")
    assert ran.returncode == 3
    assert b"internal" not in ran.stderr
    plain = start_in_shell(["convert", str(tmp_path / "1.nanim"), str(tmp_path / "plain.glb")], "", b"")
    assert plain.returncode == 0
    assert (tmp_path / "out" / "1.glb").stat().st_size == (tmp_path / "plain.glb").stat().st_size


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_full_stderr_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "bad.3ds").write_bytes(b"bad")
    for name, code in ((str(tmp_path / "bad.3ds"), 3), (str(EXAMPLE), 0)):
        assert start_in_shell(["info", "-v", name], "2> /dev/full", b"").returncode == code


@posix
def test_closed_stdin_is_empty() -> None:
    ran = start_in_shell(["info", "-"], "<&-", b"")
    assert ran.returncode == 3
    assert ran.stderr.startswith(b"keyframer: <stdin>: IO_EMPTY")
    assert ran.stderr.count(b"\n") == 1
