"""Takes away what only Linux has. Python imports this first if the folder is on PYTHONPATH: see ``make portable``.

No fork, hard links, file locks, limits of memory, affinity of processors, extended attributes or ``/proc``.
"""

import builtins
import os
import sys
from typing import Any

for name in ("fcntl", "resource"):
    sys.modules[name] = None  # type: ignore[assignment]
for name in ("fork", "link", "sched_getaffinity", "getxattr", "setxattr", "listxattr", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)

_open = builtins.open


def open_without_proc(file: Any, *arguments: Any, **settings: Any) -> Any:
    if isinstance(file, str) and file.startswith("/proc/"):
        raise FileNotFoundError(file)
    return _open(file, *arguments, **settings)


builtins.open = open_without_proc
