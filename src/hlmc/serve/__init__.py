"""Decisions over HTTP: the thin layer over :func:`hlmc.open`. All state is in the database.

==============  =====================================================================================
``config``      the TOML file of a service
``service``     the experiments that are served, and what they have been asked
``routes``      what each address does; ``wire`` is what goes in and out, ``openapi`` describes it
``endpoint``    from an ASGI call to such a function and back; ``problems`` are its errors
``guard``       whose requests are read at all: Host, Origin, types, sizes
``rights``      tokens: who may do what
``running``     uvicorn: connections, slow clients, a graceful stop; ``logs``
``looking``     reports over time, for the page and the metrics
``copying``     SQLite's log is copied beside the answers
``metrics``     numbers for Prometheus
``client``      :class:`Client` and :class:`AsyncClient`; ``remote`` is what both share
``demo``        simulated visitors
``page``        the page at ``/``
==============  =====================================================================================

The server needs the extra ``serve``, the clients ``client``. Nothing of them is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hlmc.serve.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("hlmc.serve.client"), name)
    from hlmc.spelling import no_attribute

    raise no_attribute("hlmc.serve", name, __all__)
