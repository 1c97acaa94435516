"""NVIDIA GPUs, by numba-cuda: one learner, or one agent of a game, per thread.

There is no second implementation of anything here. The engine's kernels are copied with substitutions
(:mod:`hlmc.engine.linker`): words lie where a GPU reads them fast, calls through a table become direct calls of what
one policy needs, and the statistics of the last level are held in the precision asked for.

===============  ==================================================================================================
``compiler``     a kernel and what it calls to machine code
``primitives``   what CUDA and Numba's simulator of it must say differently: barriers, atomics, shared counters
``lowering``     the primitives on a real device (needs numba-cuda)
``pointers``     runs of words with a stride, in global or shared memory (needs numba-cuda)
``views``        where a thread finds its words in what a launch was given
``shape``        what policies must share to run the same machine code
``workspace``    the statistics of the last level, copied to where the thread works on them
``dispatch``     calls of the structure and of the routines without a table of addresses
``arithmetic``   32-bit counters, single precision, fast quotients and exponentials
``loop``         the launch that simulates: many learners, each against its own copy of an adversary
``grid_sync``    how the blocks of a grid wait for one another
``launch``       how long a launch may take, and what is wrong when it fails
``memory``       arrays on the device, and whether there is a device at all
===============  ==================================================================================================

Nothing here knows simulations or games: :mod:`hlmc.simulation.on_device` and :mod:`hlmc.games.on_device` allocate,
launch and read back, and :mod:`hlmc.games.cuda` holds the kernels of a game.
"""
