"""Machine code on disk.

Numba looks only at the file in which a function stands to see whether its stored code is stale, so the folder carries a
digest of all of the package's kernels: whatever changes, nothing stale is found.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from hlmc.engine.linker import callees

_PACKAGE = Path(__file__).resolve().parent.parent.parent
_one_at_a_time = threading.RLock()


@cache
def storable(function: Callable[..., Any]) -> bool:
    """Whether a kernel and all that it calls stand in this package, so that the folder's digest speaks for them.

    Of others Numba would not notice that what their names mean has changed.
    """
    ours = Path(function.__code__.co_filename).resolve().is_relative_to(_PACKAGE)
    return ours and all(storable(called) for called in callees(function).values())


def keep_on_disk(dispatcher: Any) -> None:
    """Have a dispatcher keep its machine code. In a place that cannot be written to, nothing is kept."""
    with cache_folder(), suppress(RuntimeError):
        dispatcher.enable_caching()


@cache
def source_digest() -> str:
    """A short digest of every source file that holds kernels."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if b"@kernel" in text or b"@primitive" in text or b"lowering" in text:
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + text)
    return digest.hexdigest()


@contextmanager
def cache_folder() -> Iterator[None]:
    """Within this block Numba keeps what it compiles in a folder of the package's own."""
    import numba

    with _one_at_a_time:
        before = numba.config.CACHE_DIR
        base = Path(before) if before else user_cache()
        ours = f"kernels-{source_digest()}"
        numba.config.CACHE_DIR = str(base if base.name == ours else base / ours)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


def user_cache() -> Path:
    """The folder in which this user's programs keep what they can make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "hlmc"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hlmc"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hlmc"
