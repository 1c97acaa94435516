/* Tsallis-INF (reduced variance) over very many arms, in far fewer than K operations a step.
 *
 * It is the policy TsallisINF(K) but for errors of 1e-7 in the sum of the probabilities, and with a random stream of its
 * own: a yardstick for benchmarks/bits.py, which could not wait for K operations a step at K = 10^5, T = 10^7.
 *
 * p_i = (2 / (eta g_i))^2, where g_i = L_i - x is the distance of a loss from the normaliser. Arms lie in blocks. A block
 * keeps the sums of g^-2 ... g^-6 at a normaliser X of some time ago, from which a Taylor series gives the sums at x while
 * |x - X| is at most NEAR of the block's least distance; then the sums are taken anew.
 *
 * The estimator lowers every arm with p < eta^2 by 1/2 at every step (docs/research/bits.md). Arms are therefore of two classes:
 * those of class 1 have the loss value - fallen, where ``fallen`` counts the halves. An arm's class is looked at when its
 * block is summed anew. Until then the estimate that its class says is used, which is unbiased for either class.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ARMS @ARMS@
#define SIZE 256
#define BLOCKS ((ARMS + SIZE - 1) / SIZE)
#define SUMS 5
#define NEAR 0.02

typedef struct {
    double value[ARMS];
    unsigned char far[ARMS];
    double sum[2][SUMS][BLOCKS]; /* class, power - 2, block */
    double at[2][BLOCKS];        /* X, plus what its class has fallen by */
    double least[2][BLOCKS];     /* least distance at X */
    double now[BLOCKS];          /* sums of g^-2 at x */
    double x, fallen, eta, t;
    uint64_t key;
    int slot;
    double chance;
} flat_learner;

static double draw(flat_learner *me)
{
    uint64_t z = (me->key += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normaliser(const flat_learner *me, int class) { return me->x + (class ? me->fallen : 0.0); }

static void add(flat_learner *me, int block, int class, double g, double sign)
{
    double r = 1.0 / g, power = sign * r * r;
    for (int k = 0; k < SUMS; k++, power *= r) me->sum[class][k][block] += power;
    if (sign > 0.0 && g < me->least[class][block]) me->least[class][block] = g;
}

static void sum_anew(flat_learner *me, int block)
{
    int first = block * SIZE, end = first + SIZE < ARMS ? first + SIZE : ARMS;
    double limit = 2.0 / (me->eta * me->eta);
    for (int class = 0; class < 2; class++) {
        me->at[class][block] = normaliser(me, class);
        me->least[class][block] = 1e300;
        for (int k = 0; k < SUMS; k++) me->sum[class][k][block] = 0.0;
    }
    for (int i = first; i < end; i++) {
        double g = me->value[i] - normaliser(me, me->far[i]);
        int far = g > limit;
        if (far != me->far[i]) me->value[i] += far ? me->fallen : -me->fallen;
        me->far[i] = (unsigned char)far;
        add(me, block, far, g, 1.0);
    }
}

/* Sums of g^-2 and g^-3 over all arms at x; those of g^-2 are kept for every block. */
static void sums(flat_learner *me, double *two, double *three)
{
    double a = 0.0, b = 0.0;
    for (int j = 0; j < BLOCKS; j++) me->now[j] = 0.0;
    for (int class = 0; class < 2; class++) {
        double X = normaliser(me, class);
        double(*s)[BLOCKS] = me->sum[class];
        for (int j = 0; j < BLOCKS; j++) {
            double d = X - me->at[class][j];
            me->now[j] += s[0][j] + d * (2.0 * s[1][j] + d * (3.0 * s[2][j] + d * (4.0 * s[3][j] + d * 5.0 * s[4][j])));
            b += s[1][j] + d * (3.0 * s[2][j] + d * (6.0 * s[3][j] + d * 10.0 * s[4][j]));
        }
    }
    for (int j = 0; j < BLOCKS; j++) a += me->now[j];
    *two = a;
    *three = b;
}

static void refresh(flat_learner *me)
{
    for (int j = 0; j < BLOCKS; j++) {
        int old = 0;
        for (int class = 0; class < 2; class++)
            old |= fabs(normaliser(me, class) - me->at[class][j]) > NEAR * me->least[class][j];
        if (old) sum_anew(me, j);
    }
}

/* The normaliser for the next choice. A block is summed anew as often as x has moved too far for its series. */
static void normalise(flat_learner *me)
{
    double wanted = 0.25 * me->eta * me->eta;
    for (int i = 0; i < 100; i++) {
        double two, three;
        refresh(me);
        sums(me, &two, &three);
        double miss = two / wanted - 1.0;
        if (fabs(miss) < 1e-7) return;
        /* Newton's step for 1 / sqrt(sum), which is nearly linear in x. */
        double root = sqrt(two / wanted), step = (1.0 - root) * two / three;
        double most = 1e300;
        for (int class = 0; class < 2; class++)
            for (int j = 0; j < BLOCKS; j++) {
                double g = me->least[class][j] + me->at[class][j] - normaliser(me, class);
                if (g < most) most = g;
            }
        me->x += step < 0.5 * most ? step : 0.5 * most;
    }
}

void flat_start(flat_learner *me, uint64_t key)
{
    memset(me, 0, sizeof *me);
    me->key = key;
    me->eta = 4.0;
    me->x = -2.0 * sqrt((double)ARMS) / me->eta;
    for (int j = 0; j < BLOCKS; j++) sum_anew(me, j);
    normalise(me);
}

int64_t flat_select(flat_learner *me)
{
    double total = 0.0, u = draw(me);
    for (int j = 0; j < BLOCKS; j++) total += me->now[j];
    u *= total;
    int block = 0;
    while (block < BLOCKS - 1 && u >= me->now[block]) u -= me->now[block++];
    int slot = block * SIZE, last = slot + SIZE < ARMS ? slot + SIZE - 1 : ARMS - 1;
    double x[2] = {normaliser(me, 0), normaliser(me, 1)}, g = me->value[slot] - x[me->far[slot]];
    u -= 1.0 / (g * g);
    while (u >= 0.0 && slot < last) {
        slot++;
        g = me->value[slot] - x[me->far[slot]];
        u -= 1.0 / (g * g);
    }
    me->slot = slot;
    me->chance = 4.0 / (me->eta * me->eta * g * g);
    return slot;
}

void flat_update(flat_learner *me, double reward)
{
    int i = me->slot, block = i / SIZE, class = me->far[i];
    double old = me->value[i] - me->at[class][block];
    me->value[i] += (1.0 - reward - (class ? 0.0 : 0.5)) / me->chance;
    double fresh = me->value[i] - me->at[class][block];
    /* All arms of class 1 have lost a half of a step less than the others. */
    me->fallen += 0.5;
    me->t += 1.0;
    me->eta = 4.0 / sqrt(me->t + 1.0);
    /* A loss that fell to the normaliser or beyond: back to below the least of all. */
    double g = me->value[i] - normaliser(me, class);
    if (g < 1.0 / me->eta) me->x -= 1.0 / me->eta - g;
    if (fresh > 0.0) {
        add(me, block, class, old, -1.0);
        add(me, block, class, fresh, 1.0);
    } else
        sum_anew(me, block);
    normalise(me);
}
