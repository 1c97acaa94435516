"""Bridges to libraries that people already use; each needs its library and is imported by its own name.

``hlmc.adapters.gymnasium``, ``hlmc.adapters.pettingzoo`` and ``hlmc.adapters.river``.
"""
