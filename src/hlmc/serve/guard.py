"""Whose requests are read at all.

No web page may talk to a service on somebody's laptop. A page of another site can send requests to ``127.0.0.1``, in
three ways, and each is stopped here: a form or a "simple" request (POST takes ``application/json`` alone, for which a
browser asks first, and is refused), ``fetch`` with CORS (the Origin is not ours, unless ``origins`` names it), and a
name of the page's own that suddenly means 127.0.0.1 (the Host is not ours).
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from hlmc.serve.problems import Problem

Headers = dict[bytes, bytes]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ONCE = frozenset((b"host", b"origin", b"authorization", b"content-type", b"content-length", b"idempotency-key"))
"""Headers that must not come twice."""


def headers_of(pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of a request, whose names are in lower case."""
    listed = list(pairs)
    headers = dict(listed)
    if len(headers) < len(listed):
        names = [name for name, _ in listed]
        for name in ONCE:
            if names.count(name) > 1:
                raise Problem(400, "bad-header", f"the header {name.decode()} must not come twice")
    return headers


class Guard:
    """Checks Host, Origin and Content-Type.

    Parameters
    ----------
    hosts
        The names by which the service may be called; empty: any, which is right only where everybody needs a token.
    origins
        Other sites whose pages may use the service, such as ``https://shop.example``.
    """

    def __init__(self, hosts: Iterable[str] = LOOPBACK, origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.encode() for origin in origins)
        self._good: dict[bytes, bool] = {}

    def check(self, headers: Headers, posts: bool) -> None:
        """Refuse a request that must not be read."""
        host = headers.get(b"host", b"")
        if host not in self._good:
            self._check_host(host)
        origin = headers.get(b"origin")
        if origin is not None and origin not in self._origins and not _same(origin, host):
            raise Problem(403, "bad-origin", "pages of other sites may not use this service; see origins in its file")
        if posts and headers.get(b"content-type", b"").split(b";")[0].strip().lower() != b"application/json":
            raise Problem(415, "bad-content-type", "the Content-Type of a request with a body must be application/json")

    def _check_host(self, host: bytes) -> None:
        name = host_name(host.decode("latin-1"))
        if not name or (self._hosts and name not in self._hosts):
            raise Problem(421, "bad-host", "the service is not known by the name in the header Host; see hosts")
        if len(self._good) < 100:
            self._good[host] = True

    def allowing(self, headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
        """What lets a page of an allowed site read an answer."""
        origin = headers.get(b"origin")
        if origin is None or origin not in self._origins:
            return ()
        return (b"access-control-allow-origin", origin), (b"vary", b"origin")

    def preflight(self, headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
        """The answer to a browser that asks whether it may send a request for a page of another site."""
        self.check(headers, False)
        allowed = self.allowing(headers)
        if not allowed:
            raise Problem(403, "bad-origin", "pages of other sites may not use this service; see origins in its file")
        return (
            *allowed,
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"authorization, content-type, idempotency-key, traceparent"),
            (b"access-control-max-age", b"600"),
        )


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty if it is none.

    >>> host_name("127.0.0.1:8000"), host_name("[::1]:80"), host_name("Shop.Example"), host_name("a@b")
    ('127.0.0.1', '::1', 'shop.example', '')
    """
    if any(c in host for c in "@/?#\\ "):
        return ""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    return parts.hostname or ""


def _same(origin: bytes, host: bytes) -> bool:
    """Whether an Origin is the service itself."""
    scheme, _, rest = origin.partition(b"://")
    return scheme in (b"http", b"https") and rest == host != b""
