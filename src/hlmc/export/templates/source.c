/* $name.c: exported by hlmc $version. Everything but the functions of $name.h is static, nothing allocates memory,
 * nothing recurs, and all data is const. Compile without -ffast-math and with -ffp-contract=off.
 *
 * $policy
 */
#include "$name.h"

$includes

$number$program

$unit

void ${name}_start(${name}_learner *learner, uint64_t key)
{
    memset(learner, 0, sizeof *learner);
    $put_key
    $arm_word
    $probability_word = 1;
}
$resume
int32_t ${name}_select(${name}_learner *learner)
{
    return (int32_t)$select(learner->words);
}

int32_t ${name}_update(${name}_learner *learner, $real reward)
{
    return (int32_t)$update(learner->words, reward);
}

$real ${name}_probability(const ${name}_learner *learner)
{
    return $probability_word;
}

int64_t ${name}_time(const ${name}_learner *learner)
{
    return (int64_t)$time_word;
}
$tickets