"""Names of files in containers: the name of the container, ``!/``, and the path inside.

A member that is a container has members, too: ``disc.iso!/PACK.ZIP!/SCENE.3DS``. Only this module makes and splits such
names, and only this module makes the names of members safe.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_MARK = "!/"


def member_name(container: str, member: str) -> str:
    return f"{container}{_MARK}{member}"


def split_member(name: str, is_file: Callable[[str], bool] = os.path.isfile) -> tuple[str, str] | None:
    """Return container and member if the name is that of a member, otherwise None.

    The container is the shortest part before a ``!/`` that is an existing file: the name of a member is not trusted,
    and with ``..`` it could be the path of another file.
    """
    at = name.find(_MARK)
    while at >= 0:
        if is_file(name[:at]):
            return name[:at], name[at + len(_MARK) :]
        at = name.find(_MARK, at + 1)
    return None


def may_be_member(name: str) -> bool:
    """Return whether a name is not that of a file on a disk, and looks like that of a member."""
    return _MARK in name and not os.path.lexists(name)


def root_folder(container: str) -> str:
    """Return the path of the folder at the top of a container."""
    return container + _MARK.rstrip("/")


def file_on_disk(name: str) -> str:
    """Return the path of the file on a disk that has this content: of a member, that of its outermost container."""
    found = split_member(name)
    return name if found is None else found[0]


def safe_parts(name: str) -> list[str]:
    """Return the parts of the path of a member, without those that would lead out of a folder.

    Every path that is made of the name of a member is made of these parts.
    """
    parts = [part for part in name.replace("\\", "/").replace("\0", "_").split("/") if part not in ("", ".", "..")]
    if parts and parts[0][1:] == ":":  # C:\\MODELS: a drive, which some systems do not treat as a relative path
        parts[0] = parts[0][0]
    return parts


def decoded_name(raw: bytes) -> str:
    """Return a stored name as text: UTF-8 if it is valid UTF-8, otherwise CP437, the characters of DOS."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp437")
