"""Names of files inside other files: the name of the container, ``!/``, and the path inside.

Only this module makes and splits such names.
"""

from __future__ import annotations

import os

_MARK = "!/"


def member_name(container: str, member: str) -> str:
    return f"{container}{_MARK}{member}"


def split_member(name: str) -> tuple[str, str] | None:
    """Return container and member if the name is that of a member, otherwise None.

    The container is the shortest part before a ``!/`` that is an existing file: the name of a member is not trusted,
    and with ``..`` it could be the path of another file.
    """
    at = name.find(_MARK)
    while at >= 0:
        if os.path.isfile(name[:at]):
            return name[:at], name[at + len(_MARK) :]
        at = name.find(_MARK, at + 1)
    return None
