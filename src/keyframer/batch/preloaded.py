"""The module that the fork server of `LocalExecutor` loads once for all workers. Importing it loads the modules that
``KEYFRAMER_PRELOAD`` names: half a second of a core that workers then do not need.
"""

import gc
import os
from contextlib import suppress
from importlib import import_module

PRELOAD = "KEYFRAMER_PRELOAD"

gc.disable()  # searching for cycles while modules are loaded took a tenth of the time
for _module in os.environ.get(PRELOAD, "").split():
    with suppress(Exception):  # the module reports its own problem when it is used
        import_module(_module)
gc.freeze()  # shared memory stays shared
gc.enable()
