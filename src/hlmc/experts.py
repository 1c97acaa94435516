"""Experts: the arms are models or rules of your own, which see a context that the learner does not see.

A learner in M words chooses among thousands of them, where EXP4 keeps a weight for each. Its regret is against the best
expert. It credits the expert that was chosen alone, not others that would have recommended the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hlmc.errors import BadArgument, BadFile, BadType, shown
from hlmc.learners import Arms, Ticket, load
from hlmc.learners.arms import NamedLearner
from hlmc.policies.base import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from hlmc.bandit import Bandit

Expert = Callable[[Any], Any]

PENDING = 1024
"""How many decisions may await their rewards if the policy does not say."""


class Recommendation(NamedTuple):
    """What to play, and the id under which its reward is told."""

    arm: Any
    """What the expert recommends."""
    id: str
    """For :meth:`Experts.tell`; a text, which may be kept anywhere."""
    expert: Any
    """The name of the expert."""
    propensity: float
    """The probability by which a log of experts is weighted (:attr:`hlmc.Ticket.propensity`)."""


class Experts:
    """Choose among experts, functions of a context, and play what the chosen one recommends.

    Parameters
    ----------
    policy
        What to choose with: a policy with at least as many arms as there are experts, a learner that :meth:`save` has
        written and :func:`hlmc.load` has read, or a bandit of :func:`hlmc.open` whose arms are named like the experts.
    experts
        A mapping of names to functions of a context, or a list of functions, whose names are 0, 1, ...
    seed
        Of a policy's learner.

    Examples
    --------
    >>> import hlmc
    >>> rules = {"warm": lambda day: "tea" if day["cold"] else "juice", "always": lambda day: "coffee"}
    >>> experts = hlmc.Experts(hlmc.TsallisINF(arms=10), rules, seed=1)
    >>> chosen = experts.ask({"cold": True})
    >>> chosen.expert, chosen.arm
    ('always', 'coffee')
    >>> experts.tell(chosen.id, 0.3)
    'applied'
    >>> experts.add("juice", lambda day: "juice")
    >>> experts
    <3 experts, chosen among by TsallisINF(arms=10, pending=1024, dynamic=True)>
    """

    def __init__(
        self, policy: Policy | NamedLearner | Bandit, experts: Mapping[Any, Expert] | Sequence[Expert], seed: int = 0
    ) -> None:
        self._experts = _checked(experts)
        if isinstance(policy, Policy):
            if policy.arms < len(self._experts):
                wanted = f"policy must have at least {len(self._experts)} arms, one per expert"
                raise BadArgument(f"{wanted}, not {policy.arms}")
            arms = Arms(policy.arms)
            arms.add(*self._experts)
            late = policy if policy.pending else replace(policy, pending=PENDING)
            chooser: Any = late.start(seed, arms=arms)
        elif isinstance(policy, NamedLearner) or _is_bandit(policy):
            chooser = policy
        else:
            raise BadType(f"policy must be a policy, a learner with names or a bandit, not {shown(policy)}")
        self._chooser = chooser
        missing = [name for name in chooser.arms if name not in self._experts]
        if missing:
            raise BadArgument(f"experts must have a function for every arm, also for {shown(missing[:5])}")

    def ask(self, context: Any, **unit: Any) -> Recommendation:
        """Choose an expert and ask what it recommends in this context. ``unit`` and ``key``: of a bandit's ``ask``."""
        if isinstance(self._chooser, NamedLearner):
            ticket = self._chooser.ask(**unit)
            expert, name, propensity = ticket.arm, str(ticket), ticket.propensity
        else:
            decision = self._chooser.ask(**unit)
            expert, name, propensity = decision.arm, decision.id, decision.propensity
        try:
            return Recommendation(self._experts[expert](context), name, expert, propensity)
        except BaseException:
            # Nothing was played: that must not count as a choice of this expert for ever.
            self.drop(name)
            raise

    def tell(self, decision: str | Recommendation, reward: float) -> str:
        """Tell the reward of a decision by its id. Answers as :meth:`Learner.tell <hlmc.Learner.tell>` does."""
        code: str = self._chooser.tell(self._known(decision), reward)
        return code

    def drop(self, decision: str | Recommendation) -> str:
        """Declare that the reward of a decision will not come."""
        code: str = self._chooser.drop(self._known(decision))
        return code

    def _known(self, decision: str | Recommendation) -> Any:
        name = decision.id if isinstance(decision, Recommendation) else decision
        return Ticket.from_str(name) if isinstance(self._chooser, NamedLearner) else name

    @property
    def chooser(self) -> NamedLearner | Bandit:
        """What chooses among the experts: the learner, or the bandit."""
        found: NamedLearner | Bandit = self._chooser
        return found

    def __len__(self) -> int:
        return len(self._experts)

    def __repr__(self) -> str:
        return f"<{len(self)} experts, chosen among by {self._chooser.policy!r}>"

    def add(self, name: Any, expert: Expert) -> None:
        """Add an expert, of which nothing is known yet. The policy must have an arm to spare."""
        function = _function(name, expert)
        self._chooser.arms.add(name)
        self._experts[name] = function

    def remove(self, name: Any) -> None:
        """Remove an expert. What was known of it is lost."""
        self._chooser.arms.remove(name)
        del self._experts[name]

    def save(self, path: str | Path) -> None:
        """Write the learner and the names of the experts to a file; a bandit's are in its store."""
        if not isinstance(self._chooser, NamedLearner):
            raise BadArgument("save is for learners: what a bandit knows is in its store")
        self._chooser.save(path)

    @classmethod
    def load(cls, path: str | Path, experts: Mapping[Any, Expert] | Sequence[Expert]) -> Experts:
        """The experts of a file that :meth:`save` has written. It holds their names; the functions are given."""
        found = load(path)
        if not isinstance(found, NamedLearner):
            raise BadFile(f"{path} must be a file that Experts.save has written: it holds no names")
        return cls(found, experts)


def _checked(experts: Any) -> dict[Any, Expert]:
    """The experts by name."""
    if isinstance(experts, Mapping):
        named = dict(experts)
    elif isinstance(experts, Sequence) and not isinstance(experts, (str, bytes)):
        named = dict(enumerate(experts))
    else:
        raise BadType(f"experts must be a mapping of names to functions, or a list of functions, not {shown(experts)}")
    if not named:
        raise BadArgument("experts must hold at least one expert")
    return {name: _function(name, expert) for name, expert in named.items()}


def _function(name: Any, expert: Any) -> Expert:
    if not callable(expert):
        raise BadType(f"expert {name!r} must be a function of a context, not {shown(expert)}")
    found: Expert = expert
    return found


def _is_bandit(found: Any) -> bool:
    # Not imported for everybody: the bandit brings SQLite along.
    from hlmc.bandit import Bandit

    return isinstance(found, Bandit)
