"""The tables of a store. ``docs/schema.md`` describes them for people who read them with SQL.

Types are portable: ``key`` (a number that the database gives), ``lasting`` (a key that is never given again after its
row has gone), ``int``, ``real``, ``text``, ``blob``. A store says what they are called in its database. Times are
seconds since 1970, UTC.
"""

from __future__ import annotations

VERSION = 2
"""The version of the schema. A newer one is refused; an older one is brought up by :data:`MIGRATIONS`."""

APPLICATION = 0x686C6D63
"""What marks an SQLite file as a store: "hlmc"."""

TABLES: dict[str, dict[str, str]] = {
    "experiments": {
        "id": "key",
        "name": "text not null",
        "policy": "text not null",
        "words": "int not null",
        "settings": "text not null",
        "seed": "text not null",
        "secret": "blob not null",
        "version": "int not null",
        "live": "int not null",
        "delay": "int not null",
        "names": "text not null",
        "created": "real not null",
        "rolled": "int not null",
        "pruned": "real not null",
        "deleted": "int not null default 0",
    },
    "arms": {
        "id": "key",
        "experiment": "int not null",
        "name": "text not null",
        "slot": "int",
        "since": "int not null",
        "state": "int not null",
    },
    "arm_changes": {
        "experiment": "int not null",
        "version": "int not null",
        "live": "int not null",
        "slot": "int not null",
        "what": "text not null",
        "name": "text not null",
        "time": "real not null",
    },
    "learners": {
        "id": "lasting",
        "experiment": "int not null",
        "unit": "text not null",
        "horizon": "int not null",
        "delay": "int not null",
        "began": "int not null",
        "state": "blob not null",
        "event": "int not null",
        "version": "int not null",
        "used": "real not null",
        "snapshot": "blob",
        "snapshot_event": "int not null",
        "snapshot_version": "int not null",
    },
    "decisions": {
        "number": "key",
        "id": "text not null",
        "experiment": "int not null",
        "learner": "int not null",
        "arm": "int not null",
        "propensity": "real not null",
        "control": "int not null",
        "version": "int not null",
        "event": "int not null",
        "asked": "real not null",
        "hour": "int not null",
        "due": "real",
        "ticket": "blob not null",
        "result": "int",
        "reward": "real",
        "told": "real",
        "tell_event": "int",
        "tell_version": "int",
    },
    "keys": {
        "experiment": "int not null",
        "key": "text not null",
        "digest": "text not null",
        "decision": "text not null",
        "asked": "real not null",
        "number": "int not null default 0",
    },
    "rollups": {
        "experiment": "int not null",
        "hour": "int not null",
        "arm": "int not null",
        "control": "int not null",
        "decisions": "int not null",
        "told": "int not null",
        "rewarded": "int not null",
        "reward": "real not null",
        "squares": "real not null",
        "late": "int not null",
        "expired": "int not null",
        "dropped": "int not null",
        "settled": "int not null",
        "delay": "real not null",
    },
}

INDEXES = (
    "create unique index experiments_name on experiments (name)",
    "create unique index arms_name on arms (experiment, name) where state < 2",
    "create unique index arms_slot on arms (experiment, slot) where slot is not null",
    "create index arms_paused on arms (experiment, id) where state = 1",
    "create unique index arm_changes_version on arm_changes (experiment, version)",
    "create unique index learners_unit on learners (experiment, unit)",
    "create unique index decisions_former on decisions (id) where length(id) = 32",
    "create index decisions_due on decisions (experiment, due) where due is not null and result is null",
    "create unique index keys_key on keys (experiment, key)",
    "create unique index rollups_hour on rollups (experiment, hour, arm, control)",
)

MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        "alter table experiments add column deleted bigint not null default 0",
        "update experiments set deleted = coalesce((select min(number) - 1 from decisions), 0) where pruned > 0",
        "alter table keys add column number bigint not null default 0",
        "update keys set number = coalesce((select number from decisions where id = keys.decision), 0)",
        "drop index decisions_id",
        "create unique index decisions_former on decisions (id) where length(id) = 32",
    ),
}
"""For a version, the statements that make the next one of it."""

# States of an arm.
IN_PLAY, PAUSED, REMOVED = range(3)

# Results of a decision: those of hlmc.engine.feedback (0 applied, 1 late, 3 expired), and two more.
DROPPED, SETTLED = 4, 5


def statements(types: dict[str, str]) -> list[str]:
    """What makes the tables, in the words of a database: ``types`` says what it calls the portable types.

    >>> types = {"key": "INTEGER PRIMARY KEY", "lasting": "", "int": "INTEGER", "real": "REAL", "text": "TEXT"}
    >>> statements(types | {"blob": "BLOB"})[5]
    'create table keys (experiment INTEGER not null, key TEXT not null, digest TEXT not null, ...)'
    """
    made = []
    for table, columns in TABLES.items():
        inside = ", ".join(f"{name} {_typed(kind, types)}" for name, kind in columns.items())
        made.append(f"create table {table} ({inside})")
    return [*made, *INDEXES]


def _typed(kind: str, types: dict[str, str]) -> str:
    word, _, rest = kind.partition(" ")
    return f"{types[word]} {rest}".strip()


def migrated(found: int) -> list[str]:
    """The statements that bring an older schema up to this one."""
    return [statement for version in range(found, VERSION) for statement in MIGRATIONS[version]]
