"""A policy or a learner for browsers and Node: the WebAssembly module of all policies, and the policy as numbers."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hlmc.engine.layout import STRUCTURE
from hlmc.errors import BadArgument
from hlmc.routines import Custom, kind
from hlmc.streams import keys

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

FILES = ("hlmc.js", "hlmc.d.ts", "hlmc.wasm")


def program_json(policy: Policy, row: Array | None = None, seed: int = 0) -> str:
    """The policy as ``hlmc.js`` reads it: its program, and the key of a seed; with a row, a learner's state.

    >>> import hlmc
    >>> json.loads(program_json(hlmc.UCB1(arms=3)))["arms"]
    3
    """
    if policy.program[STRUCTURE] < 0 or any(kind(r) < 0 or isinstance(r, Custom) for r in policy.routines_used):
        raise BadArgument(f"hlmc.wasm has the routines and structures of hlmc, and not your own: {policy!r}")
    if not policy.known_probability:
        raise BadArgument(f"{policy!r} runs in Python only: hlmc.js tells the probability of every choice")
    content = {
        "format": "hlmc-program-1",
        "policy": repr(policy),
        "arms": policy.arms,
        "horizon": policy.limit,
        "words": policy.words.total,
        "program": policy.program.tolist(),
        "key": f"{int(keys(seed, 0, 1)[0]):#x}",
    }
    if policy.pending:
        content |= {"pending": policy.pending, "missing": policy.missing}
    if row is not None:
        content["state"] = list(np.asarray(row, "<f8").tobytes())
    return json.dumps(content, allow_nan=False)


def save(folder: str | Path, policy: Policy, row: Array | None = None) -> list[Path]:
    """Write ``hlmc.js``, ``hlmc.d.ts``, ``hlmc.wasm`` and ``program.json`` to a folder; their paths."""
    text = program_json(policy, row)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    shipped = resources.files("hlmc.export").joinpath("js")
    for name in FILES:
        (place / name).write_bytes(shipped.joinpath(name).read_bytes())
    (place / "program.json").write_text(text, encoding="utf-8")
    return [place / name for name in (*FILES, "program.json")]
