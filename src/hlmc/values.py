"""What policies, routines, adversaries and games have in common: they are values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, ClassVar


class Value:
    """A frozen dataclass that prints as the call that makes it.

    A subclass is decorated with ``@dataclass(frozen=True, repr=False)`` and checks its fields in ``__post_init__``,
    where :meth:`_keep` stores what a check made of them. A pickle holds the arguments and nothing that was computed
    from them, and reading it makes the value anew.
    """

    _shows_defaults: ClassVar[bool] = True
    """Whether it prints all arguments but None, or those that differ from their defaults."""
    _module: ClassVar[str] = ""
    """What stands before the name of a class of this package in print."""

    def arguments(self) -> dict[str, Any]:
        """The arguments that it prints."""
        # What a base class takes by keyword alone comes last, as in a call.
        arguments = sorted((f for f in fields(self) if f.init), key=lambda f: bool(f.kw_only))  # type: ignore[arg-type]
        given = {f: getattr(self, f.name) for f in arguments}
        if self._shows_defaults:
            return {f.name: value for f, value in given.items() if value is not None}
        return {f.name: value for f, value in given.items() if f.default is MISSING or value != f.default}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        prefix = self._module if type(self).__module__.startswith("hlmc.") else ""
        return f"{prefix}{type(self).__name__}({inside})"

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Whatever a pickle says is checked like the arguments of a call.
        self.__init__(**state)  # type: ignore[misc]

    def _keep(self, **checked: Any) -> None:
        """Store what an argument's check made of it: 1e6 as 1000000, a list as a tuple."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _keep_each(self, check: Callable[..., Any], *names: str, **limits: Any) -> None:
        """Check the fields of these names and store the results."""
        self._keep(**{name: check(name, getattr(self, name), **limits) for name in names})

    def _keep_given(self, check: Callable[..., Any], *names: str, **limits: Any) -> None:
        """The same for those that are not None."""
        self._keep_each(check, *(name for name in names if getattr(self, name) is not None), **limits)
