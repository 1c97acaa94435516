"""Where everything lies: the columns of a program and the words of a row.

A *program* is what a policy compiles to: a small read-only matrix of float64, the same for all of its learners. Row 0
is the header; row ``1 + stage * levels + d`` describes level d (from 0) in a stage of the doubling scheme (stage 0
alone when the horizon is known). A *row* is everything that one learner knows: float64 words, of which one (the
key) holds 64 raw bits. Whole numbers up to 2^53 are exact in a float64.
"""

from __future__ import annotations

# A program's header.
STRUCTURE = 0  # TREE, ROUNDS, CHAMPION or CROWNED
ARMS = 1  # K
HORIZON = 2  # T, or 2^53 when it is not known
LEVELS = 3  # D
DOUBLING = 4  # the first stage takes 2^this steps; -1: one stage, the horizon
WORDS = 5  # length of a row
SHUFFLE = 6  # rounds: 1 when the order of the arms is shuffled
MEMORY = 7  # rounds: arms held at a time
SUBPHASES = 8  # rounds: h0
SUBLENGTH = 9  # rounds: b0
WRAP = 10  # rounds: 1 when the last sub-phase of a phase is filled up from the start of the order
TIES = 11  # rounds: how ties for the most played arm are broken
BEGIN_AT = 12  # the address of the function that restarts the routine over the arms,
END_AT = 13  # and of the one that learns above it when it has run

TREE = 0
ROUNDS = 1
CHAMPION = 2
CROWNED = 3

# A program's row for a level.
KIND = 0  # which routine: its place in the catalogue
CHILDREN = 1  # N_d, the most children that a group has at this level
SIZE = 2  # arms in a child (the last may have fewer)
LENGTH = 3  # steps that one choice stands
SPAN = 4  # steps between two restarts: LENGTH of the level above, or the stage
CONTROL = 5  # where the level's control words begin
AT = 6  # where its statistics begin
START_AT = 7  # the addresses of the routine's functions
SELECT_AT = 8
UPDATE_AT = 9
PARAMETERS = 10  # the routine's own numbers from here on
FIELDS = 20

# A row's first words.
KEY = 0  # the random stream, 64 raw bits
TIME = 1  # completed steps
ARM = 2  # the arm selected and not yet updated, or -1
PROBABILITY = 3  # of the last selection, given everything before it
BEGAN = 4  # time at which the routine over the arms was last restarted
UNTIL = 5  # time at which it will be restarted
BASE = 6  # tree: first arm of the group played; rounds: place in the order of the first arm held
COUNT = 7  # arms in play
RECORD = 8  # where the record of the routine over the arms lies in the program
CARRIED = 9  # rounds: the place in the order of the arm carried over, or -1
CROWN = 9  # crowned: the arm that is one more group; a statistic
PAID = 10  # crowned: the mean reward of its last epoch, or of the epoch in which it won
DOUBT = 9  # champion: the share of the prior that is left to others
CHALLENGE = 10  # champion: 1 while it is being challenged
TENURE = 11  # champion: epochs since it was crowned
CRISIS = 12  # champion: 1 when the last epoch paid much less than those before it
TURN = 13  # champion: challenges since the lowest group level was restarted; they go round the groups
PLACE = 14  # champion: its place in the order of the arms, or -1; a statistic
TREE_HEADER = 9
ROUNDS_HEADER = 10
CHAMPION_HEADER = 15
CROWNED_HEADER = 11

# A level's control words, relative to its CONTROL.
CHILD = 0  # the child chosen
CHANCE = 1  # the probability with which it was
SUM = 2  # rewards since then; at the last level, since the restart
SCALARS = 3  # two numbers of the routine's own
LEVEL_CONTROL = 5

FOREVER = 2**53
