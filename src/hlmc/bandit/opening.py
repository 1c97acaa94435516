"""``hlmc.open``: make an experiment in a store, or go on with one that is there."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from hlmc import checks
from hlmc.bandit import settings as settings_of
from hlmc.bandit.arms import add, text_of
from hlmc.bandit.experiment import Experiment
from hlmc.bandit.front import Bandit
from hlmc.bandit.loaded import begin_with
from hlmc.bandit.settings import Settings, checked
from hlmc.bandit.sqlite import SQLiteStore
from hlmc.bandit.store import Store
from hlmc.errors import BadArgument, BadStore, BadType, shown
from hlmc.learners import Learner
from hlmc.policies.base import Policy
from hlmc.policies.description import described, read_policy

_POSTGRES = re.compile(r"postgres(ql)?://")
_HTTP = re.compile(r"https?://")


def open(  # noqa: A001 - hlmc.open is the name that users know
    store: str | os.PathLike[str],
    policy: Policy | Learner | None = None,
    *,
    arms: Iterable[str] | None = None,
    name: str = "default",
    wait: float | str | None = None,
    default: float | str | None = None,
    control: float | None = None,
    durable: bool = True,
    readonly: bool = False,
    keep: float | str | None = None,
    idle: float | str | None = None,
    shards: int | None = None,
    delay: str | None = None,
    seed: int | None = None,
    token: str | None = None,
) -> Bandit:
    """Open a bandit in a database; it is created if it does not exist.

    Parameters
    ----------
    store
        A file (SQLite), the URL of a PostgreSQL database, ``postgresql://...`` (extra ``postgres``), or that of a
        service, ``http://...`` (extra ``client``): then the bandit is an :class:`hlmc.serve.Client`.
    policy
        What to learn with; not needed for an experiment that exists. If it is a learner, such as :func:`hlmc.replay`
        returns, the learner that all share begins with its state, and those of units begin afresh.
    arms
        The names of the arms, at most ``policy.arms`` of them. Default: "0", "1", ... as many as the policy has.
    name
        Which experiment: a store can hold several.
    wait, default
        After ``wait`` seconds (or a text such as "1 hour") a decision without a reward is settled as if it had got
        ``default``: a reward, or "skip" to learn nothing from it. For clicks ``default`` is 0.
    control
        The share of decisions that are made uniformly, logged apart and not learned from.
    durable
        Whether ``ask`` and ``tell`` return only when a power cut cannot undo them. With False a killed process still
        loses nothing, and a power cut the last moments.
    readonly
        Only look: ``report``, ``check``, ``export`` and the arms.
    keep
        For how long settled decisions are kept, such as "90 days". Aggregates stay. Default: for ever.
    idle
        After which time without a decision a unit is forgotten. Default: never.
    shards
        Among how many learners decisions without a unit are divided. Default: 1. See ``docs/bandit.md``.
    delay
        "measured": learners of new units are planned for the delay of rewards measured so far.
    seed
        What the random streams derive from. Default: entropy.
    token
        For a service: the token that authenticates you. Default: the environment variable ``HLMC_TOKEN``, if it is set.

    Examples
    --------
    >>> import hlmc, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> bandit = hlmc.open(path, hlmc.Champion(arms=1000, memory=64), arms=["tea", "coffee"], seed=1)
    >>> decision = bandit.ask("user-17")
    >>> decision.arm
    'coffee'
    >>> bandit.tell(decision.id, 1.0), bandit.tell(decision.id, 1.0)
    ('applied', 'duplicate')
    >>> bandit.close()
    """
    given = {
        "wait": wait, "default": default, "control": control, "keep": keep, "idle": idle, "shards": shards,
        "delay": delay,
    }  # fmt: skip
    checks.flag("durable", durable)
    checks.flag("readonly", readonly)
    if isinstance(store, str) and _HTTP.match(store):
        return _connected(store, policy, arms, name, given, token)
    learner = policy if isinstance(policy, Learner) else None
    if isinstance(policy, Learner):
        policy = policy.policy
    if policy is not None and not isinstance(policy, Policy):
        raise BadType(f"policy must be a policy of hlmc, not {shown(policy)}")
    name = text_of("name", name)
    names = None if arms is None else checks.listed("arms", arms, "names", empty=True)
    database = database_of(store, durable, readonly, policy is not None)
    try:
        experiment = _found(database, name, policy, names, given, seed)
        if experiment is None:
            if readonly:
                raise BadArgument(f"{database.shown} has no experiment {name!r}, and readonly makes none")
            experiment = _made(database, name, policy, names, given, seed, learner)
    except BaseException:
        database.close()
        raise
    return Bandit(experiment, lambda: database_of(store, durable, True), readonly)


def _connected(
    url: str,
    policy: Policy | Learner | None,
    arms: Iterable[str] | None,
    name: str,
    given: dict[str, Any],
    token: str | None,
) -> Bandit:
    """The client of a service, which has the interface of a bandit."""
    named = [key for key, value in {"policy": policy, "arms": arms, **given}.items() if value is not None]
    if named:
        raise BadArgument(f"{named[0]} must be left out for a service, which has its experiments from its own file")
    # By its name: the room of services is made of this one, and rooms import one another in one direction only.
    client: Bandit = importlib.import_module("hlmc.serve.client").Client(url, token, name=name)
    return client


def database_of(store: Any, durable: bool, readonly: bool, new: bool = False) -> Store:
    """The database that a path or a URL stands for; whether a file may be ``new``."""
    if isinstance(store, str) and _POSTGRES.match(store):
        from hlmc.bandit.postgres import PostgresStore  # psycopg is an extra

        return PostgresStore(store, durable, readonly)
    if isinstance(store, str) and (not store or store == ":memory:" or re.match(r"[a-z+]+://", store)):
        raise BadArgument(f"store must be a path of a file or a postgresql:// URL, not {shown(store)}")
    path = checks.path("store", store)
    if not (new or readonly or path.exists()):
        raise BadArgument(f"policy is needed: there is no store {path} yet")
    return SQLiteStore(path, durable, readonly)


def _checked(names: Iterable[str]) -> list[str]:
    return [text_of("arms", name) for name in names]


def _digest(names: Sequence[str]) -> str:
    """Of names as they were checked; of others, something that is not the digest of any."""
    try:
        return hashlib.blake2b("\n".join(names).encode(), digest_size=16).hexdigest()
    except (TypeError, UnicodeEncodeError):
        return ""


def _found(
    store: Store, name: str, policy: Policy | None, names: list[str] | None, given: dict[str, Any], seed: int | None
) -> Experiment | None:
    """The experiment if it is there and is what the caller says; None if it is not there."""
    with store.reading():
        row = store.one("select id, policy, words, seed, secret, names, settings from experiments where name = ?", name)
        if row is None:
            return None
        number, description, words, own_seed, secret, digest, text = row
        policy = _same_policy(store, name, policy, description, words)
        settings = Settings.read(text, store.shown)
        wanted = checked(policy, {**vars(settings), **{k: v for k, v in given.items() if v is not None}})
        for key in settings_of.NAMES:
            if getattr(wanted, key) != getattr(settings, key):
                raise BadArgument(
                    f"{key} of experiment {name!r} is {getattr(settings, key)!r} and not {getattr(wanted, key)!r}; "
                    "leave it out, or change it with bandit.configure"
                )
        if seed is not None and str(checks.seed(seed)) != own_seed:
            raise BadArgument(f"seed of experiment {name!r} is another one; leave it out")
        experiment = Experiment(store, number, name, policy, own_seed, bytes(secret))
        experiment.refresh()
        if names is not None:
            _same_arms(experiment, names, digest)
        return experiment


def _same_policy(store: Store, name: str, policy: Policy | None, description: str, words: int) -> Policy:
    if policy is None:
        return read_policy(store.shown, description.encode(), words, None)
    if described(policy).decode() != description:
        try:
            there = repr(read_policy(store.shown, description.encode(), words, None))
        except BadArgument:
            there = "another one"
        raise BadArgument(f"policy of experiment {name!r} is {there}, not {policy!r}; leave it out to go on")
    return policy


def _same_arms(experiment: Experiment, names: list[str], digest: str) -> None:
    """Refuse other arms than there are, with the difference."""
    if experiment.version == min(len(names), 2) and experiment.live == len(names) and _digest(names) == digest:
        return  # as it was made; a million names need not be read, nor checked
    names = _checked(names)
    sql = "select name from arms where experiment = ? and state < 2"
    there = {name for (name,) in experiment.store.all(sql, experiment.number)}
    more, fewer = [name for name in names if name not in there], sorted(there.difference(names))
    if more or fewer:
        parts = [f"it does not have {shown(more[:5])}"] if more else []
        parts += [f"it also has {shown(fewer[:5])}"] if fewer else []
        raise BadArgument(
            f"arms of experiment {experiment.name!r} are others: {' and '.join(parts)}; leave arms out, and use "
            "bandit.arms.add and remove"
        )


def _made(
    store: Store,
    name: str,
    policy: Policy | None,
    names: list[str] | None,
    given: dict[str, Any],
    seed: int | None,
    learner: Learner | None,
) -> Experiment:
    """A new experiment; the learner that all share begins as ``learner`` is."""
    if policy is None:
        there = [each for (each,) in store.all("select name from experiments order by id limit 10")]
        raise BadArgument(f"policy is needed: {store.shown} has no experiment {name!r}, only {there}")
    settings = checked(policy, given)
    own_seed = str(secrets.randbits(128) if seed is None else checks.seed(seed))
    if names is None:
        names = [str(arm) for arm in range(policy.arms)]
    names = _checked(names)
    secret = secrets.token_bytes(16)
    row = (
        name, described(policy).decode(), 0, settings.described(), own_seed, secret, 0, 0, policy.delay, _digest(names),
        0.0, 0, 0.0,
    )  # fmt: skip
    columns = (
        "name", "policy", "words", "settings", "seed", "secret", "version", "live", "delay", "names", "created",
        "rolled", "pruned",
    )  # fmt: skip
    with store.transaction(alone=True):
        if store.one("select 1 from experiments where name = ?", name) is None:
            store.insert("experiments", columns, [row])
            (number,) = store.all("select id from experiments where name = ?", name)[0]
            experiment = Experiment(store, number, name, policy, own_seed, secret)
            now = experiment.refresh()
            if not experiment.rows.policy.dynamic and len(names) != policy.arms:
                kind = type(policy).__name__
                raise BadArgument(f"arms must be {policy.arms} names, as arms of {kind} cannot come, not {len(names)}")
            add(experiment, now, names)
            if learner is not None:
                begin_with(experiment, now, learner)
            changed = ("created", "words", "id")
            store.update("experiments", changed, [(now, policy.words.total, number)])
            return experiment
    # Another process was faster.
    found = _found(store, name, policy, names, given, seed)
    if found is None:
        raise BadStore(f"{store.shown} has no experiment {name!r} after it was made")
    return found


def experiments(store: str | os.PathLike[str]) -> dict[str, str]:
    """The experiments of a store that is there: their names, and their policies as they print.

    >>> import hlmc, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> hlmc.open(path, hlmc.UCB1(arms=2), name="checkout").close()
    >>> experiments(path)
    {'checkout': 'UCB1(arms=2)'}
    """
    database = database_of(store, True, True)
    try:
        with database.reading():
            found = database.all("select name, policy, words from experiments order by id")
        return {name: repr(read_policy(database.shown, text.encode(), words, None)) for name, text, words in found}
    finally:
        database.close()
