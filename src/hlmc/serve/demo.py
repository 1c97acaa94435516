"""``hlmc serve --demo``: a shop whose visitors are simulated, so that the page has something to show.

Twelve drinks are recommended to visitors of three kinds, of whom each kind has a learner of its own. A visitor who
likes what is recommended orders it, some seconds later; the others never answer. After a while tastes change.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from hlmc.bandit import Decision
from hlmc.policies import TsallisINF
from hlmc.serve.config import Config, Planned
from hlmc.serve.rights import made
from hlmc.serve.running import serve
from hlmc.serve.service import Hosted, Service

DRINKS = (
    "green tea", "black tea", "iced tea", "espresso", "cappuccino", "cold brew", "cocoa", "lemonade", "mate", "chai",
    "matcha", "water",
)  # fmt: skip
SEGMENTS = {
    "commuters": {"espresso": 0.55, "cappuccino": 0.3, "black tea": 0.2},
    "students": {"mate": 0.5, "iced tea": 0.3, "lemonade": 0.25},
    "families": {"cocoa": 0.5, "lemonade": 0.35, "water": 0.2},
}
"""How likely visitors of a kind order what is recommended; anything else: :data:`OTHERWISE`."""
SUMMER = {"cold brew": 0.75, "iced tea": 0.65}
"""What everybody likes when summer comes, after :data:`CHANGE` visitors."""
OTHERWISE = 0.08
CHANGE = 30_000
WAIT = 8.0
PACE = 0.05
"""Seconds between two groups of visitors."""
GROUP = 8


def chance(segment: str, drink: str, visitors: int) -> float:
    """How likely a visitor orders a drink that is recommended.

    >>> chance("students", "mate", 0), chance("students", "cold brew", 0), chance("students", "cold brew", CHANGE)
    (0.5, 0.08, 0.75)
    """
    tastes = SEGMENTS[segment] | (SUMMER if visitors >= CHANGE else {})
    return tastes.get(drink, OTHERWISE)


def demo(host: str, port: int) -> None:
    """Serve the shop until a signal comes, from a folder that is thrown away."""
    text, token = made(note="demo")
    with tempfile.TemporaryDirectory(prefix="hlmc-demo-") as folder:
        settings = {"wait": WAIT, "default": 0.0, "control": 0.1}
        shop = Planned("drinks", TsallisINF(arms=24), DRINKS, "each", settings)
        config = Config(str(Path(folder) / "demo.db"), (shop,), every=1.0)
        sys.stderr.write(f"the admin token of this demo, to change arms on the page: {text}\n")
        serve(config, host, port, (token,), visitors)


async def visitors(service: Service) -> None:
    """Visitors come, are recommended a drink, and order it or do not."""
    (shop,) = service.hosted.values()
    draw = random.Random()
    seen = 0
    orders: set[asyncio.Task[None]] = set()
    while True:
        kinds = draw.choices(list(SEGMENTS), k=GROUP)
        for kind, decision in zip(kinds, await service.ask(shop, kinds), strict=True):
            seen += 1
            if isinstance(decision, Decision) and draw.random() < chance(kind, decision.arm, seen):
                task = asyncio.create_task(_order(service, shop, decision.id, draw.expovariate(1.0)))
                orders.add(task)
                task.add_done_callback(orders.discard)
        await asyncio.sleep(PACE)


async def _order(service: Service, shop: Hosted, name: str, after: float) -> None:
    await asyncio.sleep(after)
    await service.tell(shop, [name], [1.0])
