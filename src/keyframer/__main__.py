"""``python -m keyframer`` is the command ``keyframer``."""

import os
import sys

if __name__ == "__main__":
    # "python -m" puts the current folder first. It may hold what came out of an archive: nothing is imported from it,
    # unless this package lies there itself. (`os` and `sys` are loaded before.)
    if not sys.flags.safe_path and os.path.dirname(os.path.dirname(__file__)) != sys.path[0]:
        del sys.path[0]
    from keyframer.cli import main

    sys.exit(main())
