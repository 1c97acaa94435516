/* A word: a number, a whole number (clocks, arms), or a sum of rewards in units of 1 / $units. */
typedef union {
    float real;
    int32_t whole;
    uint32_t total;
} ${name}_word;

/* All that a learner knows. The words are those of Python's row, narrowed; word 0 is the lower half of the key, the
 * last word its upper half.
 */
