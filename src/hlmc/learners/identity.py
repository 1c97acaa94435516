"""What a learner lives as: the entropy that its row takes its secret and its incarnation from."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from hlmc import checks
from hlmc.engine.identity import IDENTITY, NUMBER
from hlmc.engine.layout import IDENTITY_WORDS, SECRET, WINDOW
from hlmc.targets import address_of

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray


class Identity:
    """An identity (:mod:`hlmc.engine.identity`): random, or made of a number that a test gives.

    Rows that share one are the same incarnation. A forked child is another: its identities are drawn anew, unless they
    are made of a number.

    >>> Identity(7).words.tolist() == Identity(7).words.tolist() != Identity(8).words.tolist()
    True
    """

    __slots__ = ("__weakref__", "_address", "words")

    def __init__(self, given: int | None = None) -> None:
        self.words = np.zeros(IDENTITY, np.uint64)
        self._address: Any = None
        if given is None:
            self._draw()
            _drawn.add(self)
        else:
            self._set(hashlib.blake2b(f"hlmc-identity\0{given}".encode(), digest_size=8 * IDENTITY).digest())

    @property
    def address(self) -> Any:
        """Where kernels read it."""
        if self._address is None:
            self._address = address_of(self.words.view(np.float64))
        return self._address

    def _draw(self) -> None:
        self._set(os.urandom(8 * IDENTITY))

    def _set(self, data: bytes) -> None:
        self.words[:] = np.frombuffer(data, np.uint64)
        self.words[NUMBER] |= np.uint64(1)  # 0 stands for none


_drawn: WeakSet[Identity] = WeakSet()


def checked(identity: Any) -> int | None:
    """The ``identity`` of a call: None, or a whole number that stands for one.

    >>> checked("me")
    Traceback (most recent call last):
    hlmc.errors.BadType: identity must be a whole number, not 'me'
    """
    return None if identity is None else checks.seed(identity, "identity")


def identity_span(policy: Policy) -> slice:
    """The words of a row that say who its learner is; none without a window."""
    first = int(policy.program[WINDOW]) + SECRET
    return slice(first, first + IDENTITY_WORDS) if policy.pending else slice(0, 0)


def anonymous(policy: Policy, rows: Array) -> Array:
    """A copy of rows [..., words] that does not say who their learners are, as raw bits."""
    copied: Array = rows.copy()
    copied[..., identity_span(policy)] = 0.0
    return copied.view(np.uint64)


def give_secrets(policy: Policy, rows: Array, identity: int | None) -> None:
    """Give rows [learners, words] that have begun afresh other secrets than those that they had."""
    if policy.pending:
        size = 16 * len(rows)
        known = f"hlmc-secrets\0{identity}".encode()
        drawn = os.urandom(size) if identity is None else hashlib.shake_256(known).digest(size)
        first = identity_span(policy).start
        rows.view(np.uint64)[:, first : first + 2] = np.frombuffer(drawn, np.uint64).reshape(-1, 2)


def _in_child() -> None:
    for identity in list(_drawn):
        identity._draw()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
