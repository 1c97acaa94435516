"""A translation unit: the C functions, constants and types that some kernels need, each once and in order.

A kernel is translated when it is first called, after everything that it calls: so no prototypes are needed, and a call
graph with a circle is noticed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hlmc.engine.layout import HEADER, KIND, LEVEL, PARAMETERS, STRUCTURE, TOTAL, WHOLE, WIDTH, Word
from hlmc.targets.c import primitives
from hlmc.targets.c.expressions import RESERVED, Expressions, Translated, scalar
from hlmc.targets.c.reading import OutsideDialect, Source
from hlmc.targets.c.translator import Translator, _wrapped, comment
from hlmc.targets.c.types import ATOM, DOUBLE, PRODUCT, UNARY, Numbers, Type, Value, literal

Kernel = Callable[..., Any]
CODED = 100
"""What is added to the KIND of a routine for its form with statistics of a few bits."""
_Form = tuple[Kernel, tuple[Any, ...]]  # a kernel, and what of its arguments makes another function of it


@dataclass(frozen=True)
class Table:
    """What a program's calls lead to.

    Parameters
    ----------
    structures
        ``begin``, ``end`` and ``arm_of`` by the number of their structure.
    routines
        ``start``, ``select`` and ``update`` of each routine by its number.
    by_kind
        Whether a routine's number is the KIND of the level's record (plus CODED for its form with statistics of a few
        bits), or its place among the routines of one policy.
    hooks
        Kernels of the engine in whose place every structure has one of its own, and its name in ``structures``: where
        one unit serves several structures, a call of such a kernel leads to the structure's.
    """

    structures: Mapping[int, Mapping[str, Kernel]]
    routines: Mapping[int, Mapping[str, Kernel]]
    by_kind: bool = False
    hooks: Mapping[Kernel, str] = field(default_factory=dict)


HELPERS = {
    "min_real": "/* The lesser of two numbers. */\nstatic {real} {name}({real} a, {real} b)\n"
    "{{\n    return b < a ? b : a;\n}}",
    "max_real": "/* The greater of two numbers. */\nstatic {real} {name}({real} a, {real} b)\n"
    "{{\n    return b > a ? b : a;\n}}",
    "min_int": "/* The lesser of two integers. */\nstatic {whole} {name}({whole} a, {whole} b)\n"
    "{{\n    return b < a ? b : a;\n}}",
    "max_int": "/* The greater of two integers. */\nstatic {whole} {name}({whole} a, {whole} b)\n"
    "{{\n    return b > a ? b : a;\n}}",
    "abs_int": "/* The absolute value of an integer. */\nstatic {whole} {name}({whole} x)\n"
    "{{\n    return x < 0 ? -x : x;\n}}",
    **primitives.HELPERS,
}


@dataclass(frozen=True)
class RowKinds:
    """What the words of a row of 32-bit words hold.

    Parameters
    ----------
    named
        The words that have names: by name, the value of the constant and what the word holds.
    units
        Units of a sum in a reward of 1: a power of two.
    """

    named: Mapping[str, tuple[int, str]]
    units: float


def named(words: Sequence[Word]) -> dict[str, tuple[int, str]]:
    """The place among others and the content of words, by their names."""
    return {word.name: (place, word.holds) for place, word in enumerate(words)}


_LEVEL_WORDS = named(LEVEL)


def _constant_in(node: ast.expr, source: Source) -> tuple[str, int] | None:
    """The constant that an index ends with, its name and value: SUM in ``control + SUM``; None if there is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        node = node.right
    value = source.names.get(node.id) if isinstance(node, ast.Name) else None
    return (node.id, value) if isinstance(node, ast.Name) and isinstance(value, int) else None


def _held(words: Mapping[str, tuple[int, str]], node: ast.expr, source: Source) -> str | None:
    """What the word at an index holds, by the constant that the index ends with."""
    found = _constant_in(node, source)
    place, holds = words.get(found[0], (None, None)) if found is not None else (None, None)
    return holds if found is not None and place == found[1] else None


@dataclass
class Unit:
    """The functions of one C file.

    Parameters
    ----------
    prefix
        What every name begins with.
    table
        What calls through a program lead to.
    reserved
        Names, without the prefix, that the file's own templates use.
    numbers
        What floats and ints are.
    public
        Constants that the header defines.
    program
        The words of the program if it is known: a constant of the file. What it decides is not translated.
    own
        What the words of a row hold, where that is not all float64: in single precision. Else None.
    typed
        Whether whole numbers of the program are integers. Then each of its words is reached by a name.
    """

    prefix: str
    table: Table
    reserved: frozenset[str] = frozenset()
    numbers: Numbers = DOUBLE
    public: frozenset[str] = frozenset()
    program: np.ndarray | None = None
    own: RowKinds | None = None
    typed: bool = False
    functions: list[Translated] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    structs: dict[tuple[Type, ...], str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    library: set[str] = field(default_factory=set)
    _known: dict[_Form, Translated] = field(default_factory=dict)
    _names: dict[_Form, str] = field(default_factory=dict)
    _preferred: dict[Kernel, str] = field(default_factory=dict)
    _values: dict[str, object] = field(default_factory=dict)
    _dispatchers: dict[Kernel, Translated] = field(default_factory=dict)
    _under_way: list[Kernel] = field(default_factory=list)

    # --- Functions

    def form(self, kernel: Kernel, arguments: Sequence[Any]) -> _Form:
        """A kernel, and for each of its arguments whether it is the program."""
        return kernel, tuple(kind is Type.PROGRAM for kind in arguments)

    def translated(self, kernel: Kernel, arguments: Sequence[Any]) -> Translated:
        """A kernel's function, once more."""
        return Translator(self, kernel, arguments).translate()

    def function(self, kernel: Kernel, arguments: Sequence[Any], caller: Source | None, node: ast.AST) -> Translated:
        """A kernel's C function, translated when first asked for."""
        form = self.form(kernel, arguments)
        if form in self._known:
            found = self._known[form]
        else:
            if kernel in self._under_way:
                assert caller is not None
                raise caller.refuse(node, f"{kernel.__name__} calls itself; recursion is not in the dialect")
            self._under_way.append(kernel)
            found = self.translated(kernel, arguments)
            self._under_way.pop()
            self._known[form] = found
            self.functions.append(found)
        if caller is not None and len(found.parameters) != len(arguments):
            raise caller.refuse(node, f"{kernel.__name__} takes {len(found.parameters)} arguments")
        return found

    def entry(self, kernel: Kernel, *arguments: Type) -> Translated:
        """The C function of a kernel that the file's template calls."""
        return self.function(kernel, list(arguments), None, ast.Pass())

    def name_of(self, kernel: Kernel, arguments: Sequence[Any]) -> str:
        """The C name of a kernel: its own, or with its module's where another has that."""
        form = self.form(kernel, arguments)
        if form not in self._names:
            called = (each.__name__ for each in (*primitives.ROLES, *self.table.hooks))
            reserved = {f"{self.prefix}_{name}" for name in (*self.reserved, *called)}
            taken = {*self._names.values(), *reserved}
            plain = self._preferred.get(kernel, kernel.__name__.strip("_"))
            module = kernel.__module__.rsplit(".", 1)[-1].strip("_")
            numbered = (f"{plain}_{i}" for i in range(2, 1000))
            choices = (f"{self.prefix}_{name}" for name in (plain, f"{module}_{plain}", *numbered))
            self._names[form] = next(name for name in choices if name not in taken)
        return self._names[form]

    def prefer(self, kernel: Kernel, name: str) -> None:
        """Give a kernel a name of its own."""
        self._preferred.setdefault(kernel, name)

    def note(self, kernel: Kernel) -> str:
        """What is said of a copy of a kernel, in which other kernels stand for some of those that it calls."""
        source = getattr(kernel, "__hlmc_source__", None)
        if source is None:
            return ""
        from hlmc.engine.linker import callees

        before, after = callees(source), callees(kernel)
        changed = [
            f"{name.strip('_')} is {after[name].__name__.strip('_')}"
            for name in before
            if name in after
            and after[name] is not before[name]
            and after[name].__name__.strip("_") != name.strip("_")
            and not after[name].__name__.startswith("constant_")
        ]
        return f"Here {' and '.join(changed)}." if changed else ""

    def signature(self, function: Translated) -> str:
        """The head of a function's definition."""
        parts = []
        for name, kind in function.parameters:
            shown = _plain_name(name)
            if kind is Type.PROGRAM:
                continue
            if kind is Type.RUN:
                parts.append(f"{self.run_type(name in function.mutable)}{shown}")
            else:
                parts.append(f"{self.numbers.c(kind)} {shown}")
        result = self.struct(function.result) if isinstance(function.result, tuple) else self.numbers.c(function.result)
        lines = _wrapped(f"{result} {function.name}({', '.join(parts) or 'void'})", "")
        return "\n".join(lines)

    def run_type(self, mutable: bool) -> str:
        """The C type of a run of words, up to the name that follows."""
        word = self.numbers.real if self.own is None else f"{self.prefix}_word"
        return f"{word} *" if mutable else f"const {word} *"

    @property
    def number_type(self) -> str:
        """The C type of a word of the program."""
        if self.own is not None:
            return f"{self.prefix}_word"
        return f"{self.prefix}_number" if self.typed else self.numbers.real

    def struct(self, parts: tuple[Type, ...]) -> str:
        """The struct that holds several results."""
        if parts not in self.structs:
            letters = {Type.REAL: "real", Type.INT: "int", Type.BOOL: "bool", Type.BITS: "bits"}
            self.structs[parts] = f"{self.prefix}_{'_'.join(letters[part] for part in parts)}"
        return self.structs[parts]

    def struct_texts(self) -> list[str]:
        """The definitions of the structs."""
        texts = []
        for parts, name in self.structs.items():
            fields = "".join(f"    {self.numbers.c(part)} r{i};\n" for i, part in enumerate(parts))
            texts.append(f"typedef struct {{\n{fields}}} {name};")
        return texts

    # --- Constants

    def constant(self, name: str, value: Any, kernel: Kernel) -> Value:
        """A global constant of a kernel's module, under its name."""
        import sys

        module = sys.modules.get(kernel.__module__)
        if isinstance(value, np.floating):
            value = float(value)
            written = getattr(module, name, value)
            if isinstance(written, float) and math.isfinite(written) and (written != 0.0) != (value != 0.0):
                raise OutsideDialect(
                    f"{kernel.__module__}: {name} = {written!r} is no number of single precision; "
                    "SINGLE can say what it is there"
                )
        if name == "_VALUE" or (module is not None and getattr(module, name, None) is None):
            return self._literal(value)
        known = self._literal(value)
        macro = f"{self.prefix}_{name.strip('_')}".upper()
        if name.strip("_").lower() in {each.lower() for each in self.reserved}:
            macro = f"{macro}_AT"
        if macro in self._values and not _same(self._values[macro], value):
            macro = f"{self.prefix}_{kernel.__module__.rsplit('.', 1)[-1]}_{name.strip('_')}".upper()
        number = 2
        while macro in self._values and not _same(self._values[macro], value):
            macro = f"{self.prefix}_{name.strip('_')}_{number}".upper()
            number += 1
        self._values[macro] = value
        if name not in self.public:
            self.constants[macro] = known.within(ATOM)
        return Value(macro, known.type, ATOM, known.number)

    def _literal(self, value: Any) -> Value:
        if isinstance(value, np.uint64):
            return Value(f"UINT64_C({int(value):#x})" if value > 99 else f"UINT64_C({int(value)})", Type.BITS)
        if isinstance(value, np.integer):
            value = int(value)
        return literal(value, self.numbers)

    def wide(self, value: Value) -> str:
        """A literal int in the full width of an int."""
        kind = self.numbers.whole
        if value.text.isdigit():
            return f"{kind.upper().removesuffix('_T')}_C({value.text})"
        return f"(({kind}){value.text})"

    # --- What kernels and C say differently

    def helper(self, name: str) -> str:
        """The C name of a helper function."""
        full = f"{self.prefix}_{name}"
        if name not in self.helpers:
            self.helpers[name] = HELPERS[name].format(
                name=full,
                PREFIX=self.prefix.upper(),
                real=self.numbers.real,
                whole=self.numbers.whole,
                run=self.run_type(False),
            )
        return full

    def mathematics(self, name: str, values: list[Value]) -> Value:
        """A function of the C library."""
        self.library.add(name)
        kind = scalar(values[0])
        suffix = "f" if self.numbers.single or kind is Type.SINGLE else ""
        return Value(f"{name}{suffix}({', '.join(value.text for value in values)})", kind)

    def extreme(self, which: str, first: Value, second: Value) -> Value:
        """The lesser or the greater (``min``, ``max``) of two numbers of one type."""
        name = self.helper(f"{which}_{'real' if first.type is Type.REAL else 'int'}")
        return Value(f"{name}({first.text}, {second.text})", first.type)

    def word(self, run: Value, index: Value, node: ast.expr, source: Source) -> Value:
        """A word of a run; of a known program, under the name that the layout gives it."""
        if run.type is Type.PROGRAM:
            return self._program_word(run, index, node, source)
        place = f"{run.within(ATOM)}[{index.text}]"
        if self.own is None:
            return Value(place, Type.REAL)
        holds = _held(self.own.named, node, source)
        if holds == WHOLE:
            return Value(f"{place}.whole", Type.INT)
        if holds == TOTAL:
            unit = literal(1.0 / self.own.units, self.numbers).text
            return Value(f"(float){place}.total * {unit}", Type.REAL, PRODUCT, place=f"{place}.total")
        return Value(f"{place}.real", Type.REAL)

    def added(self, value: Value) -> str:
        """A number as whole units of a sum."""
        assert self.own is not None
        if value.number == 0:
            return "0"
        units = literal(self.own.units, self.numbers).text
        return f"(uint32_t)({value.within(PRODUCT)} * {units} + 0.5f)"

    def _program_word(self, run: Value, index: Value, node: ast.expr, source: Source) -> Value:
        if self.program is not None and isinstance(index.number, int):
            word = HEADER[index.number]
            held: float | int = float(self.program[index.number])
            number = literal(int(held) if self.typed and word.holds == WHOLE else held, self.numbers)
            macro = f"{self.prefix}_program_{word.name}".upper()
            self.constants[macro] = number.within(ATOM)
            return Value(macro, number.type, number=number.number)
        place = f"{run.within(ATOM)}[{index.text}]"
        if not self.typed:
            return Value(place, Type.REAL)
        holds = _held(_LEVEL_WORDS, node, source)
        found = _constant_in(node, source)
        if holds is None and (found is None or not PARAMETERS <= found[1] < WIDTH):
            raise source.refuse(node, f"{ast.unparse(node)}: which word of the program this is cannot be seen")
        return Value(f"{place}.whole", Type.INT) if holds == WHOLE else Value(f"{place}.real", Type.REAL)

    def program_value(self) -> Value:
        """The program, which is a constant of the file."""
        return Value(f"{self.prefix}_program", Type.PROGRAM)

    def primitive(self, called: Kernel, values: list[Value], node: ast.Call, translator: Expressions) -> Value | None:
        """A call of a primitive, or None if it has no form in C."""
        role = primitives.ROLES.get(called)
        if role is not None:
            return self.through_table(called, role, values, node, translator)
        lowered = primitives.LOWERED.get(called)
        return None if lowered is None else lowered(self, values, translator)

    def through_table(
        self, called: Kernel, role: str, values: list[Value], node: ast.Call, translator: Expressions
    ) -> Value:
        """A call through the program's table: directly where it can lead to one kernel only."""
        of_structure = role in ("begin", "end", "arm_of") or called in self.table.hooks
        cases = self.table.structures if of_structure else self.table.routines
        kernels = {number: roles[role] for number, roles in cases.items()}
        arguments = values if of_structure else values[1:]
        kinds = [value.type for value in arguments]
        if len(set(kernels.values())) == 1:
            (kernel,) = set(kernels.values())
            target = self.function(kernel, kinds, translator.source, node)
            return self._checked(translator.call(target, arguments, node), target, node, translator)
        by_level = not of_structure and not self.table.by_kind
        if called not in self._dispatchers:
            targets = {
                number: self.function(kernel, kinds, translator.source, node) for number, kernel in kernels.items()
            }
            self._dispatchers[called] = self._dispatcher(called, targets, by_level, of_structure)
            self.functions.append(self._dispatchers[called])
        target = self._dispatchers[called]
        return self._checked(translator.call(target, values if by_level else arguments, node), target, node, translator)

    def _checked(self, call: Value, target: Translated, node: ast.Call, translator: Expressions) -> Value:
        if "program" in target.mutable:
            raise translator.source.refuse(node, f"{target.name} writes to its program, which is read-only")
        return call

    def _dispatcher(
        self, called: Kernel, targets: Mapping[int, Translated], by_level: bool, of_structure: bool
    ) -> Translated:
        """A function that calls one of several by a number."""
        first = next(iter(targets.values()))
        parameters = [(_plain_name(name), kind) for name, kind in first.parameters]
        names = [name for name, kind in parameters if kind is not Type.PROGRAM]
        mutable = {
            name
            for target in targets.values()
            for (name, _), (own, _) in zip(parameters, target.parameters, strict=True)
            if own in target.mutable
        }
        if by_level:
            parameters = [("which", Type.INT), *parameters]
        made = Translated(f"{self.prefix}_{called.__name__}", parameters, first.result, mutable)
        made.calls = [target.name for target in targets.values()]
        whole = self.numbers.whole
        selector = "which" if by_level else self._selected(of_structure, whole)
        arguments = ", ".join(names)
        lines = [*comment((called.__doc__ or "").splitlines()[0]), f"static {self.signature(made)}", "{"]
        groups: dict[str, list[int]] = {}
        for number, target in targets.items():
            groups.setdefault(target.name, []).append(number)
        lines.append(f"    switch ({selector}) {{")
        for i, (name, numbers) in enumerate(groups.items()):
            last = i == len(groups) - 1
            lines += [f"    case {number}:" for number in numbers if not last] + (["    default:"] if last else [])
            lines += _wrapped(f"{'' if first.result is Type.NONE else 'return '}{name}({arguments});", "        ")
            if first.result is Type.NONE:
                lines.append("        break;")
        lines += ["    }", "}"]
        made.text = "\n".join(lines)
        return made

    def _selected(self, of_structure: bool, whole: str) -> str:
        from hlmc.engine import layout

        def anchor() -> None:
            """Stands for a kernel of the layout."""

        anchor.__module__ = layout.__name__
        if of_structure:
            return f"({whole})program[{self.constant('STRUCTURE', STRUCTURE, anchor).text}]"
        number = f"({whole})program[level + {self.constant('KIND', KIND, anchor).text}]"
        if any(number >= CODED for number in self.table.routines):
            return f"{number} + (program[level + {self.constant('WIDTH', WIDTH, anchor).text}] > 0.0 ? {CODED} : 0)"
        return number

    def text(self) -> str:
        """Everything, in order."""
        width = max((len(name) for name in self.constants), default=0)
        constants = [f"#define {name:{width}} {value}" for name, value in sorted(self.constants.items())]
        parts = ["\n".join(constants), *self.struct_texts(), *self.helpers.values()]
        parts += [function.text for function in self.functions]
        return "\n\n".join(part for part in parts if part)


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and a == b


def _plain_name(name: str) -> str:
    if name == "_":
        return "unused"
    return f"{name}_" if name in RESERVED else name.lstrip("_")


__all__ = ["UNARY", "RowKinds", "Table", "Unit", "named"]
