"""Formulas in plain text as MathML, which browsers typeset by themselves: powers, indices, roots.

The paper's claims are written as in a terminal, ``2 T'^(3/4) K^(1/4) (ln K)^(1/2)``. What is certainly a formula is
found by its marks: a power ``^``, a root ``√``, or an index such as ``h0``. Everything else stays text.
"""

from __future__ import annotations

import re
from html import escape

_NESTED = r"\((?:[^()]|\([^()]*\))*\)"
_FACTOR = rf"(?:{_NESTED}|√?\d[\d.,]*|√?[A-Za-zΑ-ωΔ]\d?['′]?(?![a-zA-Z])|ln [A-Z]|[⌈⌉])"
_POWER = rf"\^(?:{_NESTED}|-?[\w./]*\w)"
_TERM = rf"{_FACTOR}(?:{_POWER})?"
_FORMULA = re.compile(rf"(?<!\w)(?:{_TERM} ?)*{_FACTOR}{_POWER}(?: ?{_FACTOR}{_POWER})*⌉?|\b[hb]0\b|√\d+|\bT['′](?!\w)")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|ln|ceil|[A-Za-zΑ-ωΔ]|['′]|.")


def typeset(text: str) -> str:
    """A text as HTML, its formulas as MathML.

    >>> typeset("below 2 T^(3/4) & h0 = 6")
    'below <math><mn>2</mn><msup><mi>T</mi><mrow><mn>3</mn><mo>/</mo><mn>4</mn></mrow></msup></math> &amp; <math><msub><mi>h</mi><mn>0</mn></msub></math> = 6'
    >>> typeset("of EXP3 in 10^7 steps")
    'of EXP3 in <math><msup><mn>10</mn><mn>7</mn></msup></math> steps'
    """  # noqa: E501
    parts, at = [], 0
    for found in _FORMULA.finditer(text):
        formula = found.group().strip()
        parts += [escape(text[at : found.start()]), f"<math>{_row(formula)}</math>"]
        at = found.start() + len(found.group().rstrip())
    return "".join([*parts, escape(text[at:])])


def _row(text: str) -> str:
    """Factors side by side."""
    done, at = [], 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        base, at = _factor(text, at)
        if at < len(text) and text[at] == "^":
            power, at = _exponent(text, at + 1)
            base = f"<msup>{base}{power}</msup>"
        done.append(base)
    return "".join(done)


def _factor(text: str, at: int) -> tuple[str, int]:
    """One factor, and where it ends."""
    if text[at] == "(":
        end = _closing(text, at)
        return f"<mrow><mo>(</mo>{_row(text[at + 1 : end])}<mo>)</mo></mrow>", end + 1
    if text[at] == "√":
        inner, end = _factor(text, at + 1)
        return f"<msqrt>{inner}</msqrt>", end
    found = _TOKEN.match(text, at)
    assert found is not None
    token, end = found.group(), found.end()
    if token[0].isdigit():
        return f"<mn>{token}</mn>", end
    if not token[0].isalpha():
        return f"<mo>{escape({'-': '−', '*': '·'}.get(token, token))}</mo>", end
    if token == "ln":
        return '<mi>ln</mi><mspace width="0.17em"></mspace>', end
    done = f"<mi>{token}</mi>"
    if end < len(text) and text[end].isdigit():
        done, end = f"<msub>{done}<mn>{text[end]}</mn></msub>", end + 1
    if end < len(text) and text[end] in "'′":
        done, end = done.replace("</mi>", "′</mi>", 1), end + 1
    return done, end


def _exponent(text: str, at: int) -> tuple[str, int]:
    """What stands after ``^``: a number, a letter, or something in parentheses."""
    if text[at] == "(":
        end = _closing(text, at)
        inner, end = text[at + 1 : end], end + 1
    else:
        found = re.compile(r"-?[\w./]*\w").match(text, at)
        assert found is not None
        inner, end = found.group(), found.end()
    return _group(inner), end


def _group(text: str) -> str:
    """A row that counts as one element."""
    row = _row(text)
    return row if re.fullmatch(r"<(m\w+)>[^<]*</\1>", row) else f"<mrow>{row}</mrow>"


def _closing(text: str, at: int) -> int:
    """Where the parenthesis that opens here closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text) - 1
