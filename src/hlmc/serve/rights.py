"""Tokens: who may do what.

A token is ``hlmc_ID_SECRET``, 256 random bits behind a public id. The file has a hash of each, so that whoever reads it
can use none. A plain SHA-256 is enough: nobody can try 2^256 secrets, as they could passwords.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hlmc.errors import BadArgument, BadFile, shown
from hlmc.files import disk
from hlmc.files.writing import replacing

READ, ASK, TELL, ADMIN = RIGHTS = ("read", "ask", "tell", "admin")
"""What may be done: look, make decisions, tell rewards, change arms and settings. ``admin`` includes the others."""

ALL = "*"
"""Stands for every experiment."""


@dataclass(frozen=True)
class Token:
    """What is known of a token: not the token."""

    id: str
    hash: str
    experiment: str
    rights: tuple[str, ...]
    note: str = ""
    created: float = 0.0

    def allows(self, right: str, experiment: str | None) -> bool:
        """Whether it gives a right on an experiment; None: on all of them."""
        return (right in self.rights or ADMIN in self.rights) and self.experiment in (ALL, experiment)


NOTHING = hashlib.sha256(b"").hexdigest()


class Rights:
    """The tokens of a file, which is read again when it has changed; without a file, what anybody may do.

    Parameters
    ----------
    path
        The file. None: no tokens, and everybody who reaches the service may read, ask and tell.
    more
        Tokens beside those of the file.
    """

    EVERYBODY = Token("", "", ALL, (READ, ASK, TELL))

    def __init__(self, path: Path | None = None, more: Iterable[Token] = ()) -> None:
        self._path = path
        self._more = {token.id: token for token in more}
        self._tokens: dict[str, Token] = {}
        self._stamp: Any = None
        self._looked = 0.0
        self._known: dict[bytes, Token] = {}
        if path is not None:
            self._refresh()

    @property
    def open(self) -> bool:
        """Whether anybody may read, ask and tell."""
        return self._path is None

    def of(self, authorization: bytes | None) -> Token | None:
        """Whose rights a request has; None: its token is not known, or it needs one.

        ``authorization`` is the value of the header of that name.
        """
        if authorization is None:
            return self.EVERYBODY if self.open else None
        if self._path is not None and time.monotonic() >= self._looked + 1.0:
            self._refresh()
        scheme, _, token = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        given = hashlib.sha256(token.strip()).hexdigest()
        parts = token.strip().split(b"_")
        name = parts[1].decode("latin-1") if len(parts) == 3 else ""
        found = self._tokens.get(name) or self._more.get(name)
        same = hmac.compare_digest(given, NOTHING if found is None else found.hash)
        return found if same else None

    def _refresh(self) -> None:
        assert self._path is not None
        self._looked = time.monotonic()
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._tokens = {token.id: token for token in tokens(self._path)}
                self._stamp = stamp
        except (OSError, BadFile):
            if self._stamp is None:
                raise
            self._tokens, self._stamp = {}, ()  # whose tokens cannot be read has none


def tokens(path: Path) -> list[Token]:
    """The tokens of a file."""
    try:
        text = disk.contents(path)
        listed = json.loads(text)["tokens"] if text else []
        return [Token(**{**each, "rights": tuple(each["rights"])}) for each in listed]
    except (ValueError, TypeError, KeyError) as error:
        raise BadFile(f"{path} is not a file of tokens: {error!r}") from None


def made(experiment: str = ALL, rights: Iterable[str] = RIGHTS, note: str = "") -> tuple[str, Token]:
    """A new token, and what a file keeps of it.

    >>> text, token = made("shop", ["ask", "tell"])
    >>> Rights(None, [token]).of(b"Bearer " + text.encode()) is token, token.allows("admin", "shop")
    (True, False)
    """
    given = tuple(rights)
    if not given or not set(given) <= set(RIGHTS):
        raise BadArgument(f"rights must be some of {', '.join(RIGHTS)}, not {shown(list(given))}")
    name = secrets.token_hex(6)
    text = f"hlmc_{name}_{secrets.token_hex(32)}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text, Token(name, digest, experiment, tuple(r for r in RIGHTS if r in given), note, float(int(time.time())))


def add(path: Path, token: Token) -> None:
    """Write a token into a file, which is made if it is not there."""
    _write(path, [*(tokens(path) if path.exists() else []), token])


def revoke(path: Path, name: str) -> None:
    """Take a token out of a file. Services that use it notice within a second or so."""
    there = tokens(path)
    left = [token for token in there if token.id != name]
    if len(left) == len(there):
        raise BadArgument(f"there is no token {shown(name)} in {path}; hlmc token list shows those that there are")
    _write(path, left)


def _write(path: Path, listed: list[Token]) -> None:
    text = json.dumps({"tokens": [asdict(token) for token in listed]}, indent=2)
    if not path.exists():
        path.touch(mode=0o600)
    with replacing(path) as file:
        file.write(f"{text}\n".encode())
