"""The kernels of a game on a CUDA device: one agent per thread.

===============  ==================================================================================================
``agents``       an agent's turn: where it keeps what it holds from one round to the next
``rules``        the game's own kernels, called directly
``game_kernel``  the launch: rounds, passes over the agents, the referee
===============  ==================================================================================================

They stand here and not in :mod:`hlmc.targets.cuda` because they are the processor's kernels (:mod:`hlmc.games.turn`,
:mod:`hlmc.games.referee`) with other places for the words, and a target knows nothing of games.
"""
