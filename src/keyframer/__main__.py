"""``python -m keyframer`` is the command ``keyframer``."""

import os
import sys

if __name__ == "__main__":
    # "python -m" puts the current folder first in the path. This folder may contain files unpacked from an archive, so
    # it is removed from the path unless this package itself is in it. (Python has loaded `os` and `sys` before.)
    if not sys.flags.safe_path and os.path.dirname(os.path.dirname(__file__)) != sys.path[0]:
        del sys.path[0]
    from keyframer.cli import main

    sys.exit(main())
