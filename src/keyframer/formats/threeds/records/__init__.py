"""The known chunks of 3D Studio files, in the terms of the specification.

`basics` has colours, percentages and the top chunks, `editor` the settings of the 3D editor, `objects` meshes, lights
and cameras, `materials` materials and maps, `nodes` the nodes and tracks of the keyframer, `project` chunks of project
files and data of plug-ins.
"""

from keyframer.formats.threeds.chunk import compute_valid_children
from keyframer.formats.threeds.records.basics import *  # noqa: F403
from keyframer.formats.threeds.records.editor import *  # noqa: F403
from keyframer.formats.threeds.records.materials import *  # noqa: F403
from keyframer.formats.threeds.records.nodes import *  # noqa: F403
from keyframer.formats.threeds.records.objects import *  # noqa: F403
from keyframer.formats.threeds.records.project import *  # noqa: F403

compute_valid_children()
