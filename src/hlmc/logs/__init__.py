"""What another policy would have earned: candidates are judged by the log of a policy that chose at random.

==============  =====================================================================================
``replaying``   :func:`hlmc.replay`: every candidate, one row of a frame each
``reading``     a log: data frames, CSV, Parquet, ``dsjson``; arms, rewards, propensities, blocks
``targets``     candidates that learn nothing: an arm, a distribution, a rule; ``means`` of arms
``ips``         inverse propensity scores; ``snips`` divides by the weights; ``doubly`` has arm means
``betting``     an interval that needs weights of mean 1 and nothing else; ``bernstein`` with clipped weights
``rejection``   candidates that learn, on the rows whose arm they would have played
``frame``       the answer: a data frame that prints rounded numbers; ``drawing`` is its picture
==============  =====================================================================================
"""

from __future__ import annotations

from hlmc.logs.replaying import replay

__all__ = ["replay"]
