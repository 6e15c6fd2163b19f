"""``keyframer setup``: put completion, man pages and the desktop's files where shells and desktops find them."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.files import write_bytes
from keyframer.text import safe_text

ABOUT = """Install completion, man pages and desktop files for your user.

Writes below your home directory: completion for bash, zsh and fish, a man page
for each command, and for desktops an entry in the menu, an icon, the types of
the formats, and thumbnails in file managers. Every file is named on stdout,
and listed in keyframer/setup.json next to them. Nothing needs a password. Run
it again after an update; --undo removes the files again, and what the desktop
made of them. Files that setup did not write, or that were changed since, are
neither replaced nor removed. Without an installed command (a .pyz, python -m
keyframer) there are no files for desktops.

The last lines of the output say what zsh and man may need to find their files."""

EXAMPLES = ("keyframer setup", "keyframer setup --dry-run", "keyframer setup --undo")

SOURCES = Path(__file__).parent / "desktop"
FOR_DESKTOPS = ("keyframer.desktop", "keyframer.svg", "keyframer.thumbnailer", "keyframer.xml")
MIME_DATABASE = (
    "aliases", "generic-icons", "globs", "globs2", "icons", "magic", "mime.cache", "subclasses", "treemagic", "types",
    "version", "XMLnamespaces",
)  # fmt: skip
"""the files that update-mime-database makes of the packages"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--undo", action="store_true", help="remove the files again")
    parser.add_argument("--dry-run", action="store_true", help="only name the files")


def run(options: argparse.Namespace) -> int:
    record = _Record()
    if options.undo:
        return _undo(options, record)
    command = _command()
    existing = _paths(record)
    code = SUCCESS
    for source, target in _targets().items():
        if command is None and source in FOR_DESKTOPS:
            continue
        content = _content(SOURCES / source, command)
        try:
            if os.path.lexists(target) and not record.has(target) and target.read_bytes() != content:
                raise FileExistsError(0, "setup did not write this file, or it was changed: move it away to replace it")
            if not options.dry_run:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(target, content, overwrite=True)
                record.files[str(target)] = sha256(content).hexdigest()
        except OSError as error:
            code = _fail(target, error)
            continue
        if not options.quiet:
            print(f"{'would write' if options.dry_run else 'wrote'} {safe_text(str(target))}")
    if record.files and not options.dry_run:
        _refresh_desktop()
        try:
            record.write(existing)
        except OSError as error:
            code = _fail(record.path, error)
    if not options.quiet:
        for line in _hints(command):
            print(safe_text(line))
    return code


def _undo(options: argparse.Namespace, record: _Record) -> int:
    """Remove the files of the record, unless they were changed, and what the desktop made of them."""
    code = SUCCESS
    for name in list(record.files):
        target = Path(name)
        try:
            if os.path.lexists(target):
                if not record.has(target):
                    raise FileExistsError(0, "kept: it was changed since setup wrote it")
                if not options.dry_run:
                    target.unlink()
                if not options.quiet:
                    print(f"{'would remove' if options.dry_run else 'removed'} {safe_text(name)}")
        except OSError as error:
            code = _fail(target, error)
    if not options.dry_run and os.path.lexists(record.path):
        _refresh_desktop()
        with suppress(OSError):
            record.path.unlink()
        _remove_traces(record.made)
    return code


def _fail(path: Path, error: OSError) -> int:
    print(f"keyframer: {safe_text(str(path))}: {error.strerror or error}", file=sys.stderr)
    return INPUTS_FAILED


class _Record:
    """What earlier runs wrote: nothing else is replaced or removed."""

    def __init__(self) -> None:
        self.path = _data_home() / "keyframer/setup.json"
        self.files: dict[str, str] = {}
        """path -> SHA-256"""
        self.made: set[str] = set()
        """folders, and files of the desktop's programs, that did not exist before"""
        with suppress(OSError, ValueError, TypeError, KeyError):
            stored = json.loads(self.path.read_bytes())
            self.files, self.made = dict(stored["files"]), set(stored["made"])

    def has(self, path: Path) -> bool:
        """Return whether a file is as it was written."""
        with suppress(OSError):
            return sha256(path.read_bytes()).hexdigest() == self.files.get(str(path))
        return False

    def write(self, existing: set[Path]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.made |= {str(path) for path in _paths(self) - existing}
        stored = {"files": self.files, "made": sorted(self.made)}
        write_bytes(self.path, json.dumps(stored, indent=1).encode(), overwrite=True)


def _paths(record: _Record) -> set[Path]:
    """Return the folders of all files that exist, and the files that the programs of the desktop made."""
    mime, applications = _data_home() / "mime", _data_home() / "applications"
    made = {*(mime / name for name in MIME_DATABASE), applications / "mimeinfo.cache", *mime.glob("*/")}
    folders = {folder for path in (record.path, *_targets().values()) for folder in path.parents}
    return {path for path in folders | made if path.exists()}


def _base(variable: str, usual: str) -> Path:
    """Return a folder of the XDG base directories, which ignore relative paths."""
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else Path.home() / usual


def _data_home() -> Path:
    return _base("XDG_DATA_HOME", ".local/share")


def _targets() -> dict[str, Path]:
    """Return where each file of the package belongs."""
    data = _data_home()
    targets = {
        "keyframer.bash": data / "bash-completion/completions/keyframer",
        "_keyframer": data / "zsh/site-functions/_keyframer",
        "keyframer.fish": _base("XDG_CONFIG_HOME", ".config") / "fish/completions/keyframer.fish",
        "keyframer.desktop": data / "applications/keyframer.desktop",
        "keyframer.svg": data / "icons/hicolor/scalable/apps/keyframer.svg",
        "keyframer.thumbnailer": data / "thumbnailers/keyframer.thumbnailer",
        "keyframer.xml": data / "mime/packages/keyframer.xml",
    }
    return targets | {page.name: data / "man/man1" / page.name for page in sorted(SOURCES.glob("*.1"))}


def _command() -> str | None:
    """Return the whole path of the command: the one that runs, or the one on the PATH; None if it is not installed."""
    own = os.path.abspath(sys.argv[0])
    return own if os.path.basename(own) == "keyframer" and os.access(own, os.X_OK) else shutil.which("keyframer")


def _content(source: Path, command: str | None) -> bytes:
    """Return a file; desktops get the whole path of the command, because their own path may not contain it."""
    content = source.read_text("utf-8")
    if command is not None and source.suffix in (".desktop", ".thumbnailer"):
        escaped = command.replace("\\", r"\\")
        content = content.replace("\nTryExec=keyframer", f"\nTryExec={escaped}")
        content = content.replace("\nExec=keyframer", f"\nExec={_quoted(command)}")
    return os.fsencode(content)


def _quoted(command: str) -> str:
    """Return a path for ``Exec=``, quoted if it has more than ordinary characters, as the desktop entry specification
    says: escapes of the quotes, then those of every value."""
    if re.fullmatch(r"[\w/.@+:,-]*", command):
        return command
    escaped = re.sub(r'(["`$\\])', r"\\\1", command).replace("%", "%%")
    return '"' + escaped.replace("\\", r"\\") + '"'


def _refresh_desktop() -> None:
    """Let the desktop read its types and applications again, if it has the programs for that."""
    for program, folder in (("update-mime-database", "mime"), ("update-desktop-database", "applications")):
        command = shutil.which(program)
        if command and (_data_home() / folder).is_dir():
            subprocess.run([command, str(_data_home() / folder)], capture_output=True, check=False, timeout=60)


def _remove_traces(made: set[str]) -> None:
    """Remove the folders that are empty, and what the programs of the desktop made if there is nothing left to make it
    from."""
    mime, applications = _data_home() / "mime", _data_home() / "applications"
    has_types, has_applications = any(mime.glob("packages/*")), any(applications.glob("*.desktop"))
    for path in sorted(map(Path, made), reverse=True):  # folders after their content
        with suppress(OSError):  # not empty, or gone
            if path.is_dir():
                path.rmdir()
            elif not (has_types if path.parent == mime else has_applications):
                path.unlink()


def _hints(command: str | None) -> Iterator[str]:
    data = _data_home()
    if command is None:
        yield "no files for desktops: the command keyframer is not installed, this is another way to run it"
    functions = shlex.quote(str(data / "zsh/site-functions"))
    yield f"zsh: if completion does not work, add before compinit in ~/.zshrc: fpath+=({functions})"
    searched = [Path(folder).parent / "share/man" for folder in os.environ.get("PATH", "").split(os.pathsep)]
    if data / "man" not in searched:
        pages = shlex.quote(f"{data / 'man'}:")
        yield f"man: to find the pages, add to your profile: export MANPATH={pages}"
