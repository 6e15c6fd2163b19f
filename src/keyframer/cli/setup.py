"""``keyframer setup``: put completion, man pages and the desktop's files where shells and desktops find them."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.files import write_bytes
from keyframer.text import safe_text

ABOUT = """Install completion, man pages and desktop files for your user.

Writes below your home directory: completion for bash, zsh and fish, a man page
for each command, and for desktops an entry in the menu, an icon, the types of
the formats, and thumbnails in file managers. Every file is named on stdout.
Nothing needs a password. Run it again after an update; --undo removes the
files again.

zsh needs the folder of its completion in fpath; the last line of the output is
for ~/.zshrc."""

EXAMPLES = ("keyframer setup", "keyframer setup --dry-run", "keyframer setup --undo")

SOURCES = Path(__file__).parent / "desktop"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--undo", action="store_true", help="remove the files again")
    parser.add_argument("--dry-run", action="store_true", help="only name the files")


def run(options: argparse.Namespace) -> int:
    verbs = ("would write", "would remove") if options.dry_run else ("wrote", "removed")
    code = SUCCESS
    changed = False
    for source, target in _targets().items():
        if options.undo and not target.is_file():
            continue
        try:
            if not options.dry_run and options.undo:
                target.unlink()
            elif not options.dry_run:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(target, _content(SOURCES / source), overwrite=True)
        except OSError as error:
            print(f"keyframer: {safe_text(str(target))}: {error.strerror or error}", file=sys.stderr)
            code = INPUTS_FAILED
            continue
        changed = changed or not options.dry_run
        if not options.quiet:
            print(f"{verbs[options.undo]} {safe_text(str(target))}")
    if changed:
        _refresh_desktop()
    if not options.undo and not options.quiet:
        _explain_zsh()
    return code


def _data_home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")


def _targets() -> dict[str, Path]:
    """Return where each file of the package belongs."""
    data = _data_home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    targets = {
        "keyframer.bash": data / "bash-completion/completions/keyframer",
        "_keyframer": data / "zsh/site-functions/_keyframer",
        "keyframer.fish": config / "fish/completions/keyframer.fish",
        "keyframer.desktop": data / "applications/keyframer.desktop",
        "keyframer.svg": data / "icons/hicolor/scalable/apps/keyframer.svg",
        "keyframer.thumbnailer": data / "thumbnailers/keyframer.thumbnailer",
        "keyframer.xml": data / "mime/packages/keyframer.xml",
    }
    return targets | {page.name: data / "man/man1" / page.name for page in sorted(SOURCES.glob("*.1"))}


def _content(source: Path) -> bytes:
    """Return a file; desktops get the whole path of the command, because their own path may not contain it."""
    content = source.read_bytes()
    command = shutil.which("keyframer") or shutil.which(os.path.abspath(sys.argv[0]))
    if command and os.path.basename(command) == "keyframer" and source.suffix in (".desktop", ".thumbnailer"):
        content = content.replace(b"Exec=keyframer", b"Exec=" + os.fsencode(command))  # also TryExec
    return content


def _refresh_desktop() -> None:
    """Let the desktop read its types and applications again, if it has the programs for that."""
    for program, folder in (("update-mime-database", "mime"), ("update-desktop-database", "applications")):
        command = shutil.which(program)
        if command and (_data_home() / folder).is_dir():
            subprocess.run([command, str(_data_home() / folder)], capture_output=True, check=False, timeout=60)


def _explain_zsh() -> None:
    folder = _data_home() / "zsh/site-functions"
    print(f"zsh: if completion does not work, add before compinit in ~/.zshrc: fpath+=({safe_text(str(folder))})")
