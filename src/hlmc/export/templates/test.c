/* ${name}_test.c: whether $name.c does on this machine what it does in Python. Ends with status 0 if so, else 1.
 *
 * The first $shown steps are compared arm by arm; after $steps steps, the digest of all arms and that of the learner's
 * words. Nothing is printed and nothing is needed of the host.
 */
#include "$name.h"

#include <string.h>

/* The rewards that are paid, and for each of the first steps the arm that must be selected and which it is paid. */
static const $real paying[5] = {$paying};
static const struct {
    int32_t arm;
    int32_t quarters;
} vectors[$shown] = {
$vectors
};

/* FNV-1a of 64 bits, from the least significant byte on: the same on machines of either byte order. */
static uint64_t digested(uint64_t digest, uint64_t bits)
{
    for (int i = 0; i < 8; i++) {
        digest = (digest ^ (bits & 0xFF)) * UINT64_C(0x100000001b3);
        bits >>= 8;
    }
    return digest;
}

int main(void)
{
    ${name}_learner learner;
    uint64_t arms = UINT64_C(0xcbf29ce484222325);
    uint64_t row = UINT64_C(0xcbf29ce484222325);

    $begin
    if (${name}_update(&learner, paying[2]) != ${NAME}_NOT_SELECTED) {
        return 1;
    }
    for (int32_t t = 0; t < $steps; t++) {
        const int32_t arm = ${name}_select(&learner);
        if (arm < 0 || arm >= ${NAME}_ARMS || arm != ${name}_select(&learner)) {
            return 1;
        }
        if (t < $shown && arm != vectors[t].arm) {
            return 1;
        }
        const int32_t quarters = t < $shown ? vectors[t].quarters : (int32_t)((7 * (int64_t)t + 3 * (int64_t)arm) % 5);
        if (${name}_update(&learner, $outside) != ${NAME}_BAD_REWARD || ${name}_update(&learner, paying[quarters]) != 0) {
            return 1;
        }
        arms = digested(arms, (uint64_t)arm);
    }
    for (int i = 0; i < ${NAME}_WORDS; i++) {
        uint${word_bits}_t bits = 0;
        memcpy(&bits, &learner.words[i], sizeof bits);
        row = digested(row, bits);
    }
    return arms == $arms_digest && row == $row_digest ? 0 : 1;
}
