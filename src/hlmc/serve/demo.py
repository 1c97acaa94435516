"""``hlmc serve --demo``: a shop whose visitors are simulated, so that the page has something to show.

One of three hundred drinks is recommended to each visitor. One learner decides for all of them, and stores a fifth as
many words as there are drinks. A visitor orders what is recommended, or goes, half a second later; one in ten never
answers. After a while tastes change.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from hlmc.bandit import Decision
from hlmc.policies import Champion
from hlmc.serve.config import Config, Planned
from hlmc.serve.rights import made
from hlmc.serve.running import serve
from hlmc.serve.service import Hosted, Service

KINDS = (
    "green tea", "black tea", "white tea", "rooibos", "mate", "chai", "matcha", "espresso", "filter coffee",
    "cappuccino", "cold brew", "iced tea", "cocoa", "lemonade", "ginger ale", "apple juice", "orange juice",
    "sparkling water", "smoothie", "milkshake",
)  # fmt: skip
WITH = (
    "", "lemon", "honey", "mint", "ginger", "oat milk", "cinnamon", "vanilla", "cardamom", "orange", "cherry", "peach",
    "coconut", "caramel", "ice",
)  # fmt: skip
DRINKS = tuple(f"{kind} with {more}" if more else kind for kind in KINDS for more in WITH)
TASTES = {"espresso": 0.55, "chai with honey": 0.45, "mate with mint": 0.4, "lemonade with ginger": 0.35}
"""How likely a visitor orders what is recommended; anything else: :data:`OTHERWISE`."""
SUMMER = {"cold brew with orange": 0.8, "iced tea with peach": 0.7, "lemonade with ice": 0.6}
"""What is liked too when summer comes, after :data:`CHANGE` visitors."""
OTHERWISE = 0.06
CHANGE = 30_000
POLICY = Champion(arms=320, memory=64, horizon=10**6, switches=2)
SILENT = 0.1
"""How likely a visitor never answers; after :data:`WAIT` seconds that counts as no order."""
WAIT = 4.0
PACE = 0.05
"""Seconds between two groups of visitors."""
GROUP = 10


def chance(drink: str, visitors: int) -> float:
    """How likely a visitor orders a drink that is recommended.

    >>> chance("espresso", 0), chance("cold brew with orange", 0), chance("cold brew with orange", CHANGE)
    (0.55, 0.06, 0.8)
    """
    tastes = TASTES | (SUMMER if visitors >= CHANGE else {})
    return tastes.get(drink, OTHERWISE)


def demo(host: str, port: int) -> None:
    """Serve the shop until a signal comes, from a folder that is thrown away."""
    text, token = made(note="demo")
    with tempfile.TemporaryDirectory(prefix="hlmc-demo-") as folder:
        settings = {"wait": WAIT, "default": 0.0, "control": 0.1}
        shop = Planned("drinks", POLICY, DRINKS, "all", settings)
        config = Config(str(Path(folder) / "demo.db"), (shop,), every=1.0)
        sys.stderr.write(f"the admin token of this demo, to change arms on the page: {text}\n")
        sys.stderr.write("starting; the first time this compiles for some seconds\n")
        serve(config, host, port, (token,), visitors)


async def visitors(service: Service) -> None:
    """Visitors come, are recommended a drink, and order it or do not."""
    (shop,) = service.hosted.values()
    draw = random.Random()
    seen = 0
    answers: set[asyncio.Task[None]] = set()
    while True:
        for decision in await service.ask(shop, [None] * GROUP):
            seen += 1
            if isinstance(decision, Decision) and draw.random() >= SILENT:
                order = float(draw.random() < chance(decision.arm, seen))
                task = asyncio.create_task(_answer(service, shop, decision.id, order, draw.expovariate(2.0)))
                answers.add(task)
                task.add_done_callback(answers.discard)
        await asyncio.sleep(PACE)


async def _answer(service: Service, shop: Hosted, name: str, order: float, after: float) -> None:
    await asyncio.sleep(after)
    await service.tell(shop, [name], [order])
