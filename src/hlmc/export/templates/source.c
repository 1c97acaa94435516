/* $name.c: exported by hlmc $version. Everything but the functions of $name.h is static, nothing allocates memory,
 * nothing recurs, and all data is const. Compile without -ffast-math and with -ffp-contract=off.
 *
 * $policy
 */
#include "$name.h"

$includes

$program

$unit

void ${name}_start(${name}_learner *learner, uint64_t key)
{
    memset(learner, 0, sizeof *learner);
    memcpy(&learner->words[0], &key, sizeof key);
    learner->words[$arm_at] = -1.0;
    learner->words[$probability_at] = 1.0;
}
$resume
int32_t ${name}_select(${name}_learner *learner)
{
    return (int32_t)$select(learner->words);
}

int32_t ${name}_update(${name}_learner *learner, double reward)
{
    return (int32_t)$update(learner->words, reward);
}

double ${name}_probability(const ${name}_learner *learner)
{
    return learner->words[$probability_at];
}

int64_t ${name}_time(const ${name}_learner *learner)
{
    return (int64_t)learner->words[$time_at];
}
$tickets