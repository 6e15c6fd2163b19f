"""``python -m keyframer`` is the command ``keyframer``."""

import os
import sys

if __name__ == "__main__":
    # "python -m" puts the current folder first in the path. It may hold files unpacked from an archive, so nothing is
    # imported from it unless this package is there itself. (`os` and `sys` are loaded before.)
    if not sys.flags.safe_path and os.path.dirname(os.path.dirname(__file__)) != sys.path[0]:
        del sys.path[0]
    from keyframer.cli import main

    sys.exit(main())
