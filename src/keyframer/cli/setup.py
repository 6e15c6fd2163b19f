"""``keyframer setup``: put completion, man pages and the desktop's files where shells and desktops find them."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.files import write_bytes
from keyframer.text import safe_text

ABOUT = """Install completion, man pages and desktop files for your user.

Writes below your home directory: completion for bash, zsh and fish, a man page
for each command, and for desktops an entry in the menu, an icon, the types of
the formats, and thumbnails in file managers. Every file is named on stdout.
Nothing needs a password. Run it again after an update; --undo removes the
files again, and what the desktop made of them. Without an installed command
(a .pyz, python -m keyframer) there are no files for desktops.

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
    verbs = ("would write", "would remove") if options.dry_run else ("wrote", "removed")
    code = SUCCESS
    changed = False
    command = _command()
    for source, target in _targets().items():
        if not target.is_file() if options.undo else command is None and source in FOR_DESKTOPS:
            continue
        try:
            if not options.dry_run and options.undo:
                target.unlink()
            elif not options.dry_run:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(target, _content(SOURCES / source, command), overwrite=True)
        except OSError as error:
            print(f"keyframer: {safe_text(str(target))}: {error.strerror or error}", file=sys.stderr)
            code = INPUTS_FAILED
            continue
        changed = changed or not options.dry_run
        if not options.quiet:
            print(f"{verbs[options.undo]} {safe_text(str(target))}")
    if changed:
        _refresh_desktop()
    if options.undo and not options.dry_run:
        _remove_traces()
    if not options.undo and not options.quiet:
        for line in _hints(command):
            print(safe_text(line))
    return code


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


def _remove_traces() -> None:
    """Remove empty folders, and what the programs of the desktop made, if there is nothing left to make it from."""
    mime, applications = _data_home() / "mime", _data_home() / "applications"
    made = {mime / name for name in MIME_DATABASE} if not any(mime.glob("packages/*")) else set()
    if not any(applications.glob("*.desktop")):
        made.add(applications / "mimeinfo.cache")
    for path in made:
        path.unlink(missing_ok=True)
    kept = {Path.home(), *(Path(os.environ.get(name, "")) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"))}
    for path in [*_targets().values(), *(each / "type" for each in mime.glob("*/"))]:
        for folder in takewhile(lambda each: each not in kept, path.parents):
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError:  # not empty
                break


def _hints(command: str | None) -> Iterator[str]:
    data = _data_home()
    if command is None:
        yield "no files for desktops: the command keyframer is not installed, this is another way to run it"
    yield f"zsh: if completion does not work, add before compinit in ~/.zshrc: fpath+=({data / 'zsh/site-functions'})"
    searched = [Path(folder).parent / "share/man" for folder in os.environ.get("PATH", "").split(os.pathsep)]
    if data / "man" not in searched:
        yield f'man: to find the pages, add to your profile: export MANPATH="{data / "man"}:"'
