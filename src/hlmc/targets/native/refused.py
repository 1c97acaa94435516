"""What is raised where a kernel cannot be played side by side (:mod:`hlmc.targets.native.many`)."""

from __future__ import annotations

from hlmc.errors import BadArgument


class NotWide(BadArgument):
    """A kernel that cannot be played on several lanes."""
