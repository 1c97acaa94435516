/* All that a learner knows: the row of words that hlmc.load and Learner(policy, row) take in Python.
 * Word 0 holds 64 raw bits, the key; it is no number.
 */
