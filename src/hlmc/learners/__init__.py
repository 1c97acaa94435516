"""Learners: policies that run. One row, many rows, decisions that await their rewards, and arms that have names.

- :mod:`~hlmc.learners.learner`: one learner, and what learners and fleets share;
- :mod:`~hlmc.learners.fleet`, :mod:`~hlmc.learners.batches`: many learners, and one call for many of them;
- :mod:`~hlmc.learners.tickets`: decisions that are rewarded later;
- :mod:`~hlmc.learners.arms`: arms with names, which come and go;
- :mod:`~hlmc.learners.gate`: the check of rows that come from outside;
- :mod:`~hlmc.learners.saving`, :mod:`~hlmc.learners.filed`, :mod:`~hlmc.learners.loading`: learners and fleets in
  files;
- :mod:`~hlmc.learners.format`: where everything lies in such a file, and its checksums;
- :mod:`~hlmc.learners.journal`: changing a fleet's file in place.
"""

from hlmc.learners.arms import Arms, NamedLearner
from hlmc.learners.fleet import Fleet
from hlmc.learners.learner import Learner
from hlmc.learners.loading import load
from hlmc.learners.tickets import Ticket

__all__ = ["Arms", "Fleet", "Learner", "NamedLearner", "Ticket", "load"]
