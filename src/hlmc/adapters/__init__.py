"""Adapters for other libraries. Each needs its library and is imported by name.

``hlmc.adapters.gymnasium``, ``hlmc.adapters.pettingzoo`` and ``hlmc.adapters.river``.
"""
