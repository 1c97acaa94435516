"""The look of every policy: a colour, a line style and a marker, the same in all plots.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which are distinguishable for colour-blind
readers. Line styles and markers distinguish the policies in black-and-white prints. A swept parameter has a sequential
map.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hlmc.errors import BadArgument, BadType, need_lab, shown
from hlmc.spelling import plain

COLOURS = {
    "black": "#000000",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
}
"""Okabe and Ito's colours. Yellow is too pale for lines on white and is used for areas only."""

LINES = {"solid": "-", "dashed": (0, (5, 2)), "dotted": (0, (1.2, 1.4)), "mixed": (0, (6, 1.6, 1.2, 1.6))}
"""Line styles by name, as Matplotlib takes them."""


class Look(NamedTuple):
    """The look of one policy: a name from `COLOURS` or any colour of Matplotlib, a name from `LINES`, and a marker."""

    colour: str
    dashes: str
    marker: str

    def line(self) -> dict[str, Any]:
        """Arguments for ``ax.plot``; a line has few markers, however many points it has."""
        return {
            "color": COLOURS.get(self.colour, self.colour),
            "linestyle": LINES[self.dashes],
            "marker": self.marker,
            "markevery": 0.1,
        }

    def band(self) -> dict[str, Any]:
        """Arguments for ``ax.fill_between`` around the line."""
        return {"color": COLOURS.get(self.colour, self.colour), "alpha": 0.18, "linewidth": 0}


# Bounded memory is drawn solid, full memory dashed, arms in blocks dotted.
LOOKS = {
    "HLMC": Look("blue", "solid", "o"),
    "HLMC.S": Look("green", "solid", "s"),
    "HLMC.P": Look("purple", "solid", "D"),
    "Champion": Look("vermillion", "solid", "*"),
    "EXP3": Look("orange", "dashed", "^"),
    "EXP3.S": Look("sky", "dashed", "v"),
    "EXP3.P": Look("purple", "dashed", "d"),
    "EXP3-IX": Look("vermillion", "dashed", "p"),
    "UCB1": Look("black", "dashed", "h"),
    "Tsallis-INF": Look("green", "dashed", ">"),
    "UCB-M": Look("black", "dotted", "x"),
    "UCB-M shuffled": Look("purple", "dotted", "P"),
    "EXP3-M": Look("sky", "dotted", "<"),
    "Thompson": Look("blue", "dashed", "X"),
    "EpsilonGreedy": Look("vermillion", "mixed", "H"),
    "Uniform": Look("black", "mixed", "."),
}
"""The looks of the catalogue, by the names used in plots."""


_KNOWN = {plain(name): known for name, known in LOOKS.items()}
_LINE_COLOURS = [name for name in COLOURS if name != "yellow"]
# Neighbours in this list differ in all three parts, and none is a look of the catalogue.
_SPARE = [
    spare
    for i in range(140)
    if (spare := Look(_LINE_COLOURS[i % 7], ("mixed", "dotted", "dashed", "solid")[i % 4], "HXd8>"[i % 5]))
    not in LOOKS.values()
]


def look(name: str) -> Look:
    """The look of a policy by its name, with or without dots and hyphens.

    >>> look("UCB-M") == look("ucbm")
    True
    >>> look("UCB-M")
    Look(colour='black', dashes='dotted', marker='x')
    """
    return looks([name])[name]


def looks(names: Iterable[str], colours: Mapping[str, str] | None = None) -> dict[str, Look]:
    """A look for each name, all different.

    Names of the catalogue have fixed looks. Three or more names that differ in one number alone ("M = 14", "M = 20",
    ...) are a swept parameter: their colours go from dark to light with the number. Any other name gets a spare look
    that depends only on its letters, or the next free one if two names would share it. ``colours`` are your own for
    some of the names, as keys of `COLOURS` or as Matplotlib takes them.

    >>> found = looks(["HLMC", "mine", "enim"])
    >>> found["HLMC"] == LOOKS["HLMC"], found["mine"] == look("mine"), found["enim"] == found["mine"]
    (True, True, False)
    >>> [each.colour for each in looks(["M = 50", "M = 14", "M = 20"]).values()]
    ['#8fd744', '#443983', '#21918c']
    >>> looks(["HLMC"], {"HLMC": "tab:red"})["HLMC"].colour
    'tab:red'
    """
    names = list(names)
    found = _swept(names)
    taken: set[int] = set()
    for name in names:
        if name in found:
            continue
        if known := _KNOWN.get(plain(name)):
            found[name] = known
            continue
        start = sum(map(ord, name))
        free = (i % len(_SPARE) for i in range(start, start + len(_SPARE)) if i % len(_SPARE) not in taken)
        place = next(free, start % len(_SPARE))
        taken.add(place)
        found[name] = _SPARE[place]
    own = {} if colours is None else colours
    if not isinstance(own, Mapping):
        raise BadType(f"colours must be a dictionary of colours by name, not {shown(colours)}")
    for name in set(own) & set(names):
        found[name] = found[name]._replace(colour=checked_colour(name, own[name]))
    return found


def checked_colour(name: str, colour: Any) -> str:
    """A key of `COLOURS` or a colour of Matplotlib."""
    need_lab("matplotlib")
    from matplotlib.colors import is_color_like, to_hex

    if isinstance(colour, str) and colour in COLOURS:
        return colour
    if not is_color_like(colour):
        raise BadArgument(
            f"colours must be colours of Matplotlib or of hlmc.plotting, not {shown(colour)} for {name!r}"
        )
    return colour if isinstance(colour, str) else to_hex(colour)


_SEQUENTIAL = ("#443983", "#31688e", "#21918c", "#35b779", "#8fd744")
"""Viridis, without the ends that are too pale or too dark for lines; more colours are mixed of these."""
_NUMBERED = re.compile(r"(.*?)(-?\d+(?:[.,]\d+)*)(\D*)")


def _swept(names: Sequence[str]) -> dict[str, Look]:
    """The looks of three or more names that differ in one number alone, if they are all."""
    parts = [None if plain(name) in _KNOWN else _NUMBERED.fullmatch(name) for name in names]
    if len(set(names)) < 3 or None in parts or len({(p[1], p[3]) for p in parts if p}) > 1:
        return {}
    values = {name: float(p[2].replace(",", "")) for p, name in zip(parts, names, strict=True) if p}
    ranks = {value: i for i, value in enumerate(sorted(set(values.values())))}
    last = max(1, len(ranks) - 1)
    return {
        name: Look(sequential(ranks[value] / last), "solid", "osD^v*pXPh"[ranks[value] % 10])
        for name, value in values.items()
    }


def sequential(share: float) -> str:
    """The colour of a place in a sequence, from 0 (dark) to 1 (light).

    >>> sequential(0.0), sequential(0.125), sequential(1.0)
    ('#443983', '#3a5088', '#8fd744')
    """
    at = min(max(share, 0.0), 1.0) * (len(_SEQUENTIAL) - 1)
    i = min(int(at), len(_SEQUENTIAL) - 2)
    ends = [[int(text[k : k + 2], 16) for k in (1, 3, 5)] for text in _SEQUENTIAL[i : i + 2]]
    return "#" + "".join(f"{round(a + (at - i) * (b - a)):02x}" for a, b in zip(*ends, strict=True))
