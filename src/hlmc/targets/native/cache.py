"""Machine code kept on disk between processes.

:func:`attach` gives one of Numba's dispatchers or C functions a cache of ours in the place of Numba's. It differs in
four ways:

- **An entry is one file, and the file is sealed.** It begins with a digest of its name and its content. What does not
  match (flipped bits, a truncated file, an entry moved to another's place) is ignored before anything in it is
  unpickled or mapped as code; the kernel is compiled anew and the entry replaced. Numba trusts what it finds.
- **An entry's name says all that the machine code depends on**: the kernel with the constants and kernels that it
  names, the options and the signature, the processor, the versions and Numba's settings. Numba leaves out the names
  and the options, and numbers its data files through an index, where two processes can exchange each other's entries.
- **A file is written beside its place and moved there**, so that others find the old entry, the new one or none.
- **No place is required.** What cannot be written to the cache goes to a temporary folder, which the processes that
  this one starts use too and which is removed at exit. Where there is none, nothing is kept. Either is said once.

The folder also carries a digest of all the package's kernels and targets, because the implementations of primitives
and the translation to vectors have no identity of their own. A kernel that stands outside the package, or names one
that does, is not kept.

The seal detects damage, not malice: whoever can write to the cache folder can run code as its user, as with
``__pycache__``.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive, is_record

_SEAL = 32  # bytes of the digest at the beginning of an entry
_HANDED_DOWN = "HLMC_TEMPORARY_CACHE"  # tells the processes that this one starts which temporary folder to use
_said: list[str] = []  # the warning, once it has been given

# What changes the machine code and is not part of the processor's description.
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML")


def attach(target: Any, function: Callable[..., Any], **options: Any) -> None:
    """Let a Numba dispatcher or C function look for its machine code on disk first and keep it there.

    Parameters
    ----------
    target
        The dispatcher or ``CFunc``, before its first compilation.
    function
        The kernel that ``target`` was made of, as it was before its callees were replaced by compiled ones.
    options
        The compiler options of ``target``, and whatever else makes its machine code differ from another's.
    """
    known = identity(function)
    if known is not None and source_digest() is not None:
        name = re.sub(r"\W", "_", function.__qualname__)[:80]
        target._cache = _Kept(name, f"{known} {type(target).__name__} {sorted(options.items())}")


@cache
def identity(function: Callable[..., Any]) -> str | None:
    """A digest of a kernel's code, its constants and all the kernels it calls; None if that does not describe it.

    A kernel from outside the library is not described: the folder's digest would not notice what its names then mean.
    Nor is one that is a closure or names something else than kernels, numbers and modules.
    """
    code = function.__code__
    if function.__closure__ or not Path(code.co_filename).resolve().is_relative_to(_package()):
        return None
    parts = [function.__module__, function.__qualname__, code.co_code, code.co_consts]
    # The body of a primitive is not compiled: what is comes from the sources, of which the folder has the digest.
    for name in () if is_primitive(function) else code.co_names:
        value = function.__globals__.get(name)
        if is_kernel(value):
            value = identity(value)
            if value is None:
                return None
        elif isinstance(value, types.ModuleType):
            value = value.__name__
        elif value is not None and is_record(value):
            value = (value.__module__, value.__qualname__, value._fields)
        elif value is not None and not isinstance(value, (int, float, np.generic)):
            return None
        parts.append((name, value))
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


@cache
def source_digest() -> str | None:
    """A short digest of the sources that machine code follows from: all files that hold kernels, and the targets,
    which translate them; None where the package comes without its sources."""
    digest, found = hashlib.blake2b(digest_size=8), False
    for path in sorted(_package().rglob("*.py")):
        text = path.read_bytes()
        translates = path.is_relative_to(_package() / "targets")
        if translates or any(mark in text for mark in (b"@kernel", b"@primitive", b"@indirect", b"@record")):
            digest.update(path.relative_to(_package()).as_posix().encode() + b"\0" + text)
            found = True
    return digest.hexdigest() if found else None


def user_cache() -> Path:
    """The folder for hlmc's own files among the user's caches; an OSError where there is no home folder.

    Empty and relative paths in the environment count as absent, as the XDG specification asks.
    """
    if sys.platform == "win32":
        variable, usual = "LOCALAPPDATA", Path("AppData", "Local")
    elif sys.platform == "darwin":
        variable, usual = "", Path("Library", "Caches")
    else:
        variable, usual = "XDG_CACHE_HOME", Path(".cache")
    given = Path(os.environ.get(variable, ""))
    if given.is_absolute():
        return given / "hlmc"
    try:
        home = Path.home()
    except RuntimeError:
        home = Path()
    if not home.is_absolute():
        raise FileNotFoundError(errno.ENOENT, "there is no home folder")
    return home / usual / "hlmc"


class _Kept:
    """The cache of one dispatcher or C function, as Numba asks it: ``load_overload``, ``save_overload``."""

    def __init__(self, name: str, known: str) -> None:
        self._name = name
        self._known = known

    @property
    def cache_path(self) -> str:
        return str(_folder())

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function of a signature, or None."""
        from numba.core.compiler import CompileResult

        context.refresh()
        name = self._entry(signature, context.codegen())
        for folder in (_folder, _handed_down):
            try:
                data = _sound(folder() / name)
                # Only now that the seal matches. What another version of a package made is compiled anew, too.
                stored, payload = pickle.loads(data)  # noqa: S301
                # Signatures can differ and print alike.
                if stored == signature:
                    return CompileResult._rebuild(context, *payload)
            except Exception:
                continue
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function, if it does not hold addresses of this process."""
        from numba.core.serialize import dumps

        if result.library.has_dynamic_globals or any(not lifted.can_cache for lifted in result.lifted):
            return
        _write(self._entry(signature, result.codegen), dumps((signature, result._reduce())))

    def _entry(self, signature: Any, codegen: Any) -> str:
        import llvmlite
        import numba

        settings = [str(getattr(numba.config, name, None)) for name in _SETTINGS]
        versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version, sys.byteorder)
        parts = repr((self._known, str(signature), codegen.magic_tuple(), settings, versions))
        return f"{self._name}-{hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()}.nbc"


def _sound(path: Path) -> bytes:
    """The content of an entry whose seal matches; otherwise an OSError."""
    data = path.read_bytes()
    if data[:_SEAL] != _seal(path.name, data[_SEAL:]):
        raise OSError(errno.EIO, "the entry is damaged", str(path))
    return data[_SEAL:]


def _seal(name: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_SEAL, key=hashlib.sha256(name.encode()).digest()).digest()


def _write(name: str, content: bytes) -> None:
    """Put an entry into the cache or, failing that, into the temporary folder."""
    sealed = _seal(name, content) + content
    try:
        _put(_folder(), name, sealed)
        return
    except OSError as error:
        reason = f"{error.filename or 'the cache folder'}: {error.strerror or error}"
    try:
        _put(_temporary(), name, sealed)
        otherwise = "they are kept in a temporary folder until this process ends"
    except OSError:
        otherwise = "none are kept"
    if not _said:
        _said.append(reason)
        warnings.warn(
            f"hlmc cannot keep its compiled kernels ({reason}); {otherwise}, and the next process compiles them anew. "
            "Set NUMBA_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )


def _put(folder: Path, name: str, sealed: bytes) -> None:
    """Write a file beside its place and move it there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = folder / f".{os.urandom(8).hex()}.tmp"
    try:
        with temporary.open("xb") as file:
            file.write(sealed)
        temporary.replace(folder / name)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _folder() -> Path:
    """The folder for the kernels as they are in this version of the package; an OSError where there is no home."""
    import numba

    given = numba.config.CACHE_DIR
    return (Path(given) if given else user_cache()) / f"kernels-{source_digest()}"


def _temporary() -> Path:
    """The temporary folder of this process and those that it starts, made when it is first wanted; or an OSError."""
    try:
        return _handed_down()
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="hlmc-kernels-"))
    os.environ[_HANDED_DOWN] = str(folder)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _handed_down() -> Path:
    """The temporary folder that this process or one that started it has made; an OSError if there is none.

    Its maker may have ended and removed it, and somebody else may have put another in its place.
    """
    folder = Path(os.environ.get(_HANDED_DOWN, ""))
    status = folder.lstat()
    ours = sys.platform == "win32" or status.st_uid == os.getuid()
    if not (folder.is_absolute() and stat.S_ISDIR(status.st_mode) and ours):
        raise FileNotFoundError(errno.ENOENT, "no temporary folder has been made")
    return folder


def _remove(folder: Path, process: int) -> None:
    # A forked child ends too, and is not the one to tidy up.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _package() -> Path:
    import hlmc

    return Path(hlmc.__file__).resolve().parent
