"""A bandit kept in a database: named arms, a learner per unit, decisions whose rewards come late or never.

==============  =====================================================================================
``opening``     :func:`hlmc.open`: make an experiment, or go on with it
``front``       :class:`hlmc.Bandit`: ask, tell, drop and the rest
``work``        what happens within one transaction
``rows``        stored rows, and the engine's steps on many of them
``experiment``  what a process knows of an experiment
``arms``        names that come and go, as a versioned list of changes
``group``       group commit of threads and tasks
``schema``      the tables
``store``       what is needed of a database; ``sqlite``, ``postgres``
==============  =====================================================================================
"""

from __future__ import annotations

from hlmc.bandit.arms import BanditArms
from hlmc.bandit.decision import Decision
from hlmc.bandit.front import Bandit
from hlmc.bandit.opening import open  # noqa: A004

__all__ = ["Bandit", "BanditArms", "Decision", "open"]
