/* Every policy of hlmc $version in one file: the program is data, so one module serves all of them.
 *
 * A program and a row are runs of doubles: policy.program and learner.state in Python.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

$unit

/* Begin: a row of so many words, for a learner that draws from the stream of this key. */
void ${name}_start(double *row, int32_t words, uint64_t key);
void ${name}_start(double *row, int32_t words, uint64_t key)
{
    for (int32_t j = 0; j < words; j++) {
        row[j] = 0.0;
    }
    memcpy(&row[0], &key, sizeof key);
    row[$arm_at] = -1.0;
    row[$probability_at] = 1.0;
}

/* The arm to play now, or a negative error. */
double ${name}_select(const double *program, double *row);
double ${name}_select(const double *program, double *row)
{
    return (double)$select(program, row);
}

/* Learn the reward of the arm selected: 0, or a negative error. */
int32_t ${name}_update(const double *program, double *row, double reward);
int32_t ${name}_update(const double *program, double *row, double reward)
{
    return (int32_t)$update(program, row, reward);
}

/* Make a decision and write its ticket; the arm, or a negative error. Only for programs with a window. */
int32_t ${name}_ask(const double *program, double *row, const double *identity, double *ticket);
int32_t ${name}_ask(const double *program, double *row, const double *identity, double *ticket)
{
    return (int32_t)$ask(program, row, 0, identity, ticket);
}

/* Learn the reward of a ticket or, with learns = 0, that none will come; a code, or a negative error. */
int32_t ${name}_tell(const double *program, double *row, const double *ticket, double reward, int32_t learns);
int32_t ${name}_tell(const double *program, double *row, const double *ticket, double reward, int32_t learns)
{
    return (int32_t)$tell(program, row, ticket, $share(program, reward), learns);
}

/* 1 if a row from outside is one that a learner of this program can have, else 0: then nothing else may be called. */
int32_t ${name}_admits(const double *program, const double *row);
int32_t ${name}_admits(const double *program, const double *row)
{
    return $sound(program, program, row) ? 1 : 0;
}
