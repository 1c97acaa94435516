"""``hlmc.load``: the learner or the fleet of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hlmc.files.disk import StrPath, bad
from hlmc.learners.arms import NamedLearner
from hlmc.learners.filed import FiledRows
from hlmc.learners.fleet import Fleet
from hlmc.learners.identity import checked as checked_identity
from hlmc.learners.learner import Learner
from hlmc.learners.saving import note_seen, read

if TYPE_CHECKING:
    from hlmc.routines.base import Routine


def load(
    path: StrPath,
    routines: Mapping[str, Routine] | None = None,
    *,
    mapped: bool = True,
    identity: int | None = None,
) -> Learner | Fleet:
    """Load a learner or a fleet from a file.

    Every learner loaded from the file accepts the tickets made before it was saved; later ones only the learner that
    made them.

    Parameters
    ----------
    path
        What :meth:`Learner.save`, :meth:`Fleet.save` or ``policy.fleet(..., file=path)`` has written.
    routines
        The routines of your own that the policy uses, by label: a file holds their names, not their code.
    mapped
        A fleet's rows are read when they are used, and :meth:`Fleet.checkpoint` writes them back; the file is locked.
        False: all rows are read now, and the fleet is independent of the file.
    identity
        As for :meth:`Policy.start <hlmc.Policy.start>`.

    Examples
    --------
    >>> import hlmc, tempfile
    >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
    >>> arm = learner.select()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(folder + "/learner")
    ...     again = hlmc.load(folder + "/learner")
    >>> again == learner, again.select() == arm
    (True, True)
    """
    given = checked_identity(identity)
    found = read(path, routines, mapped)
    if isinstance(found, FiledRows):
        fleet = Fleet.of_file(found, given)
        if mapped:
            return fleet
        copied = fleet.copy(given)
        note_seen(copied._seen, path, found.front)
        return copied
    front, row = found
    try:
        if (names := front.arms) is not None:
            named = NamedLearner.loaded(front.policy, row, names, given)
            note_seen(named._seen, path, front)
            return named
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise bad(path, f"its table of arms makes no sense ({error})") from None
    learner = Learner.trusted(front.policy, row, identity=given)
    note_seen(learner._seen, path, front)
    return learner
