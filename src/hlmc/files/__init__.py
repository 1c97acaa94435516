"""Files of learners and fleets: one format, checked before it is believed and read without executing anything.

``docs/format.md`` has the layout byte by byte. One concept per file:

- :mod:`~hlmc.files.format`: where everything lies in a file, and its checksums;
- :mod:`~hlmc.files.description`: a policy as JSON;
- :mod:`~hlmc.files.saving`: :func:`read` and :func:`save`;
- :mod:`~hlmc.files.rows`: the rows of a fleet's file, read and checked when they are first used;
- :mod:`~hlmc.files.journal`: changing a fleet's file in place;
- :mod:`~hlmc.files.writing`: the writer of all files of this library, of whatever kind;
- :mod:`~hlmc.files.disk`: reading, writing and locking.
"""

from hlmc.files.description import own_routines
from hlmc.files.disk import StrPath
from hlmc.files.saving import read, save

__all__ = ["StrPath", "own_routines", "read", "save"]
