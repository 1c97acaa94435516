"""NVIDIA GPUs, by NVRTC: one learner, or one agent of a game, per thread.

There is no second implementation of anything here. The engine's kernels are copied with substitutions
(:mod:`hlmc.engine.linker`): words lie where a GPU reads them fast, calls through a table become direct calls of what
one policy needs, and the statistics of the last level are held in the precision asked for. The translator to C
(:mod:`hlmc.targets.c`) then makes C++ of the copies.

===============  ==================================================================================================
``unit``         a file of C++: every kernel once for every list of argument types; how each primitive is written
``translator``   one kernel: types come from its arguments
``code``         the text with what stands around it, for a device or a host
``primitives``   threads, barriers, atomics, shared counters, and a thread's words in what a launch was given
``device.cuh``   the same in C++: runs of words with a stride, in global or shared memory
``device``       the GPU: NVRTC compiles, the driver loads and launches (needs cuda-bindings)
``host``         a C++ compiler and threads that take turns, in place of a GPU; ``host.cuh`` comes before the text
``memory``       arrays on the device, the record that a launch is given, and which device that is
``shape``        what policies must share to run the same machine code
``workspace``    the statistics of the last level, copied to where the thread works on them
``dispatch``     calls of the structure and of the routines without a table of addresses
``arithmetic``   32-bit counters, single precision, fast quotients and exponentials
``ftrl``         one path through Tsallis-INF for all threads of a warp
``loop``         the launch that simulates: many learners, each against its own copy of an adversary
``grid_sync``    how the blocks of a grid wait for one another
``launch``       how long a launch may take
===============  ==================================================================================================

Nothing here knows simulations or games: :mod:`hlmc.simulation.on_device` and :mod:`hlmc.games.on_device` allocate,
launch and read back, and :mod:`hlmc.games.cuda` holds the kernels of a game.
"""
