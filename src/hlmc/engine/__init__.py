"""The engine: what a learner's words mean and how a step changes them. It knows no compiler.

=================  ==============================================================================================
``layout``         the words of a program and of a row, with names and meanings
``kernel``         how a function is marked as one that every target can read
``primitives``     what Python and machine code say differently: raw bits, calls through a table
``elementary``     e^x and logarithms, with the same last digit on every machine
``arithmetic``     exponentials, quotients and counters, which a target may replace by faster ones
``stream``         random numbers as a function of (key, time, purpose)
``permutation``    a random order of the arms in no memory
``weights``        exponential weights of any range in n words
``ftrl``           follow the regularised leader with Tsallis entropy
``routines``       a routine's functions as a level calls them
``structures``     what happens between two restarts of the routine over the arms, one file per structure
``step``           select, update, and the loop over many steps
``batch``          the same for many learners
``hooks``          what a target may replace in the loop
=================  ==============================================================================================
"""
