"""``python -m hlmc`` is ``hlmc``."""

from hlmc.cli import entry

entry()
