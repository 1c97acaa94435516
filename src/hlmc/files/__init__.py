"""Files of whatever kind: read without executing anything, written so that a crash leaves the old one or the new one.

- :mod:`~hlmc.files.writing`: the writer of all files of this library;
- :mod:`~hlmc.files.parquet`: tables with a digest;
- :mod:`~hlmc.files.disk`: reading, writing and locking.

The format of learners and fleets is :mod:`hlmc.learners.format`; ``docs/format.md`` has it byte by byte.
"""

from hlmc.files.disk import StrPath
from hlmc.files.writing import write_whole

__all__ = ["StrPath", "write_whole"]
