/* $name.h: a bandit learner in C99, exported by hlmc $version.
 *
 * $policy
 *
 * $about
 */
#ifndef ${NAME}_H
#define ${NAME}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ${NAME}_ARMS $arms
#define ${NAME}_WORDS $words /* ${word_bits}-bit words of a learner: $bytes bytes */
#define ${NAME}_HORIZON $horizon /* $horizon_text */
#define ${NAME}_SEED_0 $key /* the key of policy.start(seed=0) */

/* What ${name}_select and ${name}_update answer when nothing was done. */
enum {
    ${NAME}_PAST_HORIZON = -1, /* select: all steps of the horizon have been taken */
    ${NAME}_NOT_SELECTED = -2, /* update: no arm is selected */
    ${NAME}_BAD_REWARD = -3    /* update: the reward is not a number in $range */
};

$row
typedef struct {
    $word words[${NAME}_WORDS];
} ${name}_learner;

/* Begin. Learners with different keys choose independently of one another; take 64 random bits for each. */
void ${name}_start(${name}_learner *learner, uint64_t key);
$resume_prototype
/* The arm to play now, 0 to ${NAME}_ARMS - 1, or a negative error. Asked again before update, it answers the same. */
int32_t ${name}_select(${name}_learner *learner);

/* Learn the $what, in $range, of the arm selected. 0, or a negative error; then nothing has changed. */
int32_t ${name}_update(${name}_learner *learner, $real reward);

/* The probability of the last selection, given everything before it. */
$real ${name}_probability(const ${name}_learner *learner);

/* The number of completed steps. */
int64_t ${name}_time(const ${name}_learner *learner);
$tickets_prototypes
#ifdef __cplusplus
}
#endif

#endif
