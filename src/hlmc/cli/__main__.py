"""``python -m hlmc.cli`` is ``hlmc``."""

from hlmc.cli import entry

entry()
