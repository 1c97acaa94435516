"""A policy or a learner as C files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import choice
from hlmc.engine import weights
from hlmc.engine.feedback import ask, for_structure, tell
from hlmc.engine.hooks import StoreHooks
from hlmc.engine.layout import ARM, ARMS, CHILDREN, FIELDS, HORIZON, LEVELS, TIME, WORDS
from hlmc.engine.linker import constant, substitute_where_used
from hlmc.engine.routines import level_kernels
from hlmc.engine.scale import scaled, update_scaled
from hlmc.engine.single import SUBSTITUTES
from hlmc.engine.step import select, update
from hlmc.engine.tickets import ticket_words
from hlmc.errors import BadArgument, BadType, shown
from hlmc.export import single, sizes
from hlmc.export.compact import COMPACT
from hlmc.export.programs import cut, listed, program_text
from hlmc.export.rows import row_format, template
from hlmc.export.vectors import Vectors, quarters_of
from hlmc.routines import kind
from hlmc.streams import keys
from hlmc.targets.c.types import DOUBLE, Numbers, Type, literal
from hlmc.targets.c.unit import Table, Unit
from hlmc.versions import VERSION

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray
Kernel = Callable[..., Any]

PUBLIC = (
    "learner",
    "word",
    "number",
    "start",
    "resume",
    "select",
    "update",
    "probability",
    "time",
    "program",
    "saved",
    "ask",
    "tell",
    "drop",
    "ticket",
    "identity",
    "arms",
    "words",
    "horizon",
    "seed_0",
    "h",
)
"""Names that the templates use."""
ERRORS = ("PAST_HORIZON", "NOT_SELECTED", "BAD_REWARD")
TICKETS = ("SELECTED", "BAD_TICKET", "APPLIED", "LATE", "DUPLICATE", "EXPIRED")
"""Constants that the header defines."""

MOST_ARMS = 2**31 - 1
MOST_NARROW = 2**28
"""With arms and steps up to this many, no integer of a step needs more than 32 bits."""


@dataclass(frozen=True)
class CSource:
    """A learner in C99: the texts of its files.

    Parameters
    ----------
    name
        What files, functions and macros begin with.
    header, source
        ``NAME.h`` and ``NAME.c``.
    makefile
        ``Makefile``: ``make test``, ``make size``.

    Examples
    --------
    >>> import hlmc
    >>> c = hlmc.HLMC(arms=20, memory=10, horizon=10**6).to_c(name="radio")
    >>> sorted(c.files)
    ['Makefile', 'README.md', 'radio.c', 'radio.h', 'radio_test.c']
    >>> "int32_t radio_select(radio_learner *learner);" in c.header
    True
    """

    name: str
    header: str
    source: str
    makefile: str
    _test: Callable[[], str] = field(repr=False, compare=False)
    _readme: Callable[[], str] = field(repr=False, compare=False)

    @cached_property
    def test(self) -> str:
        """``NAME_test.c``, whose ``main`` returns 0 if the machine computes what Python does, else 1."""
        return self._test()

    @cached_property
    def readme(self) -> str:
        """``README.md``: how to use it; flash and stack by the compilers that are installed here, and RAM."""
        return self._readme()

    @property
    def files(self) -> dict[str, str]:
        """The text of each file by its name."""
        return {
            f"{self.name}.h": self.header,
            f"{self.name}.c": self.source,
            f"{self.name}_test.c": self.test,
            "Makefile": self.makefile,
            "README.md": self.readme,
        }

    def save(self, folder: str | Path) -> list[Path]:
        """Write the files to a folder, which is made if there is none; their paths.

        >>> import hlmc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(hlmc.Uniform(arms=3).to_c().save(folder))
        5
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, text in self.files.items():
            (place / name).write_text(text, encoding="utf-8")
            paths.append(place / name)
        return paths


def exported(
    policy: Policy,
    name: str = "hlmc",
    row: Array | None = None,
    steps: int | None = None,
    precision: str = "float64",
) -> CSource:
    """A policy in C or, with a learner's row, a learner that goes on from there.

    Parameters
    ----------
    policy
        The policy. Its kernels must keep to the dialect (``docs/dialect.md``).
    name
        A C identifier: what files, functions and, in capitals, macros begin with.
    row
        The state that ``NAME_resume`` begins with.
    steps
        The most steps that a learner without an end will take: later stages of the program are left out.
    precision
        ``"float64"``: the row is Python's. ``"float32"``: statistics of 32 bits (:mod:`hlmc.export.single`).
    """
    _check(policy, name)
    narrow = choice("precision", precision, "float64", "float32") == "float32"
    table = single.program(policy, steps) if narrow else cut(policy, steps)
    unit, into = _unit(policy, table, name, precision)
    chosen = unit.entry(into(select), Type.PROGRAM, Type.RUN)
    learned = unit.entry(into(update_scaled if policy.scaled else update), Type.PROGRAM, Type.RUN, Type.REAL)
    rows = row_format(policy, unit)
    key = int(keys(0, 0, 1)[0])
    horizon = int(table[HORIZON])
    if row is not None and (taken := int(row[TIME]) + (row[ARM] >= 0.0)) > horizon:
        # Kernels would look for the stage of its steps behind the table's end.
        raise BadArgument(f"the learner has taken {taken} steps, more than the {horizon} of this program; raise steps")
    begins = rows.fresh(key) if row is None else rows.of_python(row)
    words = len(begins)
    about = "Reentrant, without heap, recursion or input and output; all that a learner knows is its struct."
    common = {
        "name": name,
        "NAME": name.upper(),
        "version": VERSION,
        "policy": _safe(repr(policy)),
        "words": words,
        "bytes": begins.nbytes,
        "real": unit.numbers.real,
    }
    values = {
        **common,
        "about": about,
        "arms": policy.arms,
        "horizon": f"INT64_C({horizon})",
        "horizon_text": "steps of a learner" if policy.limit or steps else "no horizon: steps that can be counted",
        "key": f"UINT64_C({key:#018x})",
        "range": policy.range_shown,
        "what": "loss" if policy.losses else "reward",
        "paying": ", ".join(literal(paid, unit.numbers).text for paid in quarters_of(policy)),
        "outside": literal(float(policy.rewards[1]) + abs(float(policy.rewards[1])) + 1.0, unit.numbers).text,
        "resume_prototype": template("resume.h", common) if row is not None else "",
        "program": program_text(table, unit),
        "select": chosen.name,
        "update": learned.name,
        **rows.texts(name),
        "resume": _resume(common, begins) if row is not None else "",
        **_tickets(policy, unit, into, common),
        "unit": unit.text(),
        "includes": "\n".join(f"#include <{file}>" for file in _includes(unit)),
        "begin": f"{name}_start(&learner, {name.upper()}_SEED_0);" if row is None else f"{name}_resume(&learner);",
    }

    def test() -> str:
        played = rows.played(begins.copy())
        return template("test.c", {**values, **_test_values(played)})

    return CSource(
        name,
        template("header.h", values),
        template("source.c", values),
        template("Makefile", values),
        test,
        lambda: _readme(policy, values, unit),
    )


def _check(policy: Policy, name: str) -> None:
    if not isinstance(name, str):
        raise BadType(f"name must be a C identifier, not {shown(name)}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise BadArgument(f"name must be a C identifier of at most 41 characters such as 'hlmc', not {shown(name)}")
    if policy.arms > MOST_ARMS:
        raise BadArgument(f"arms must be at most {MOST_ARMS} in C, not {policy.arms}")
    if not policy.known_probability:
        raise BadArgument(f"{policy!r} runs in Python only: C tells the probability of every choice")


def _tickets(
    policy: Policy, unit: Unit, into: Callable[[Kernel], Kernel], common: Mapping[str, object]
) -> dict[str, str]:
    """Ask and tell, for policies that have a window."""
    if not policy.pending:
        return {"tickets_prototypes": "", "tickets": ""}
    asking = unit.entry(
        into(for_structure(ask, policy.structure)), Type.PROGRAM, Type.RUN, Type.INT, Type.RUN, Type.RUN
    )
    telling = unit.entry(
        into(for_structure(tell, policy.structure)), Type.PROGRAM, Type.RUN, Type.RUN, Type.REAL, Type.INT
    )
    share = f"{unit.entry(scaled, Type.PROGRAM, Type.REAL).name}(reward)" if policy.scaled else "reward"
    skips = isinstance(policy.missing, str)
    number = literal(0.0 if skips else float(policy.missing), DOUBLE).text
    dropped = f"(int32_t){telling.name}(learner->words, ticket->words, 0.0, 0)"
    words = ticket_words(int(policy.program[LEVELS]))
    values = {
        **common,
        "ticket_words": words,
        "ticket_bytes": 8 * words,
        "pending": policy.pending,
        "ask": asking.name,
        "tell": telling.name,
        "share": share,
        "drop": dropped if skips else f"{common['name']}_tell(learner, ticket, {number})",
        "range": policy.range_shown,
        "what": "loss" if policy.losses else "reward",
    }
    return {"tickets_prototypes": template("tickets.h", values), "tickets": template("tickets.c", values)}


def _unit(policy: Policy, program: Array, name: str, precision: str) -> tuple[Unit, Callable[[Kernel], Kernel]]:
    """What a policy's kernels are translated into; and how they are changed before."""
    substitutions = {**StoreHooks(**_without_trees(policy)).substitutions, **COMPACT}
    numbers = Numbers(whole="int32_t" if _narrow(policy, program) else "int64_t")
    if precision == "float32":
        substitutions |= SUBSTITUTES
        numbers = Numbers("float", "int32_t")
    structure = policy.structure

    def into(kernel: Kernel) -> Kernel:
        return substitute_where_used(kernel, substitutions, precision)

    routines = [routine.kernels for routine in policy.routines_used]
    distinct = len(set(routines)) > 1
    table = Table(
        {0: {role: into(getattr(structure, role)) for role in ("begin", "end", "arm_of")}},
        {
            d: {role: into(kernel) for role, kernel in level_kernels(kernels)._asdict().items()}
            for d, kernels in enumerate(routines)
        },
    )
    unit = Unit(
        name,
        table,
        frozenset(PUBLIC),
        numbers,
        frozenset(ERRORS + TICKETS if policy.pending else ERRORS),
        program,
        single.kinds(policy, program) if numbers.single else None,
        not any(routine.opaque or kind(routine) < 0 for routine in policy.routines_used),
    )
    if distinct:
        for d, routine in enumerate(policy.routines_used):
            label = re.sub(r"\W", "_", getattr(routine, "label", routine.name))
            for role, kernel in table.routines[d].items():
                unit.prefer(kernel, f"level_{role}_{label}")
    return unit, into


def _narrow(policy: Policy, program: Array) -> bool:
    """Whether all integers fit into 32 bits, which makes small processors faster and their code smaller.

    Times reach twice the horizon, and places in a random order the next power of four above the arms. Coded statistics
    are packed into 64 bits. What a user's own routine counts, and what a ticket from outside says, is not known.
    """
    own = any(routine.opaque or kind(routine) < 0 or routine.bits < 64 for routine in policy.routines_used)
    header = program[:FIELDS]
    return not own and not policy.pending and max(header[[ARMS, HORIZON, WORDS]]) <= MOST_NARROW


def _without_trees(policy: Policy) -> dict[str, Kernel]:
    """Leave out the code for trees of weights where no level has more children than the scan is for."""
    children = int(policy.program.reshape(-1, FIELDS)[1:, CHILDREN].max())
    # The champion's epochs have one slot more than CHILDREN.
    return {"scan_limit": constant(2**63 - 1)} if children < weights.SCAN else {}


def _safe(text: str) -> str:
    """Text within a C comment."""
    return text.replace("*/", "* /").replace("\n", " ")


def _includes(unit: Unit) -> list[str]:
    return [*(["math.h"] if unit.library else []), "stdbool.h", "string.h"]


def _resume(common: Mapping[str, object], begins: Array) -> str:
    digits = 8 * begins.itemsize
    bits = [f"UINT{digits}_C({int(word):#x})," for word in begins]
    text = "\n".join(listed(bits, "    ")).rstrip(",")
    return "\n" + template("resume.c", {**common, "bits": text, "word_bits": digits})


def _test_values(played: Vectors) -> dict[str, object]:
    pairs = [f"{{{arm}, {quarters}}}" for arm, quarters in zip(played.arms, played.quarters, strict=True)]
    return {
        "shown": max(len(pairs), 1),
        "steps": played.steps,
        "vectors": "\n".join(listed([f"{pair}," for pair in pairs or ["{-1, 0}"]], "    ")).rstrip(","),
        "arms_digest": f"UINT64_C({played.arms_digest:#018x})",
        "row_digest": f"UINT64_C({played.row_digest:#018x})",
    }


def _readme(policy: Policy, values: Mapping[str, object], unit: Unit) -> str:
    name = str(values["name"])
    graph = {function.name: function.calls for function in unit.functions}
    tops: Sequence[str] = (str(values["select"]), str(values["update"]))
    agreement = "agreement_single.md" if unit.numbers.single else "agreement.md"
    return template(
        "README.md",
        {
            **values,
            "sizes": sizes.table(name, template("header.h", values), template("source.c", values), graph, tops),
            "last_arm": policy.arms - 1,
            "begin_example": str(values["begin"]).replace(f"{name.upper()}_SEED_0", "key"),
            "agreement": template(agreement, {"name": name, "short": _short(policy)}).rstrip(),
        },
    )


def _short(policy: Policy) -> str:
    text = repr(policy)
    return text if text.startswith("hlmc.") else f"hlmc.{text}"
