"""A bandit kept in a database: named arms, a learner per unit, decisions whose rewards come late or never.

==============  =====================================================================================
``opening``     :func:`hlmc.open`: make an experiment, or go on with it
``front``       :class:`hlmc.Bandit`: ask, tell, drop and the rest
``work``        what happens within one transaction; ``loaded``: the learners that it is about
``rows``        stored rows, and the engine's steps on many of them
``experiment``  what a process knows of an experiment
``arms``        names that come and go, as a versioned list of changes
``group``       group commit of threads and tasks; ``requests`` wait for it
``settings``    wait, default, control and the rest
``upkeep``      settling, roll-ups, retention, idle units
``report``      what there is to see; ``rollups`` are its aggregates
``replay``      check: every row is what its events make of it
``log``         all decisions as CSV or Parquet
``shards``      what several learners in place of one cost
``ids``         ids of decisions
``schema``      the tables
``store``       what is needed of a database; ``sqlite``, ``postgres`` and its ``wire``
==============  =====================================================================================
"""

from __future__ import annotations

from hlmc.bandit.arms import BanditArms
from hlmc.bandit.decision import Decision
from hlmc.bandit.front import Bandit
from hlmc.bandit.opening import experiments, open  # noqa: A004
from hlmc.bandit.report import Report, Tally
from hlmc.bandit.settings import Settings
from hlmc.bandit.shards import shard_cost

__all__ = ["Bandit", "BanditArms", "Decision", "Report", "Settings", "Tally", "experiments", "open", "shard_cost"]
