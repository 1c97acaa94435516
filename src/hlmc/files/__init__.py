"""Files of learners and fleets: one format, checked before it is believed and read without executing anything.

``docs/format.md`` has the layout byte by byte. One concept per file:

- :mod:`~hlmc.files.format`: where everything lies in a file, and its checksums;
- :mod:`~hlmc.files.description`: a policy as JSON;
- :mod:`~hlmc.files.journal`: changing a fleet's file in place;
- :mod:`~hlmc.files.writing`: the writer of all files of this library, of whatever kind;
- :mod:`~hlmc.files.disk`: reading, writing and locking.

What reads and writes learners and fleets in this format is in :mod:`hlmc.learners`.
"""

from hlmc.files.description import own_routines
from hlmc.files.disk import StrPath
from hlmc.files.writing import write_whole

__all__ = ["StrPath", "own_routines", "write_whole"]
