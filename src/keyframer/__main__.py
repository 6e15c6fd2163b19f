"""``python -m keyframer`` is the command ``keyframer``."""

import sys

from keyframer.cli import main

if __name__ == "__main__":
    sys.exit(main())
