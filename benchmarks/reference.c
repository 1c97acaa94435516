/* The yardstick: policies as one would write them by hand, each in one plain loop.

   A program prints nanoseconds of processor time a step and the reward earned:

       reference exp3 ADVERSARY ARMS MEMORY STEPS GAMMA SEED
       reference hlmc ADVERSARY ARMS MEMORY STEPS GROUPS EPOCH GAMMA_ABOVE GAMMA_BELOW SEED
       reference tsallis ADVERSARY ARMS MEMORY STEPS SEED
       reference champion ADVERSARY ARMS MEMORY STEPS GROUPS EPOCH LEAST_DOUBT SEED
       reference ucbm ADVERSARY ARMS MEMORY STEPS SEED

   ADVERSARY is trap (BlockTrap: sub-phase u of a phase of h0 sub-phases pays 1 to arm M (u + 1) mod K) or means (each arm
   pays 1 with its own probability). MEMORY is that of the trap, and of UCB-M. Random numbers are SplitMix64's. Weights
   are drawn by walking along them. Nothing here counts words: arms, means and sums lie in tables. */

/* Collecting the scalars of a step in a vector, to store them at once, would make the next step wait for them. */
#pragma GCC optimize("no-tree-slp-vectorize", "no-math-errno")

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t counter;

static inline double uniform(void) {
    uint64_t x = counter += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* --- The adversary: which arm pays, and until when; or with which probability. --- */

typedef struct {
    int64_t arms, memory, h0, length, until, sub, pays;
    const double *means; /* or NULL: the trap */
} Trap;

static Trap trap(int64_t arms, int64_t memory, const double *means) {
    Trap a = {arms, memory, (arms - 1 + memory - 2) / (memory - 1), memory * (memory + 2), 0, -1, 0, means};
    return a;
}

static inline double reward(Trap *a, int64_t t, int64_t arm) {
    if (a->means) return uniform() < a->means[arm] ? 1.0 : 0.0;
    if (t == a->until) {
        if (++a->sub == a->h0) {
            a->sub = 0;
            a->length *= 2;
        }
        a->until += a->length;
        a->pays = a->memory * (a->sub + 1) % a->arms;
    }
    return arm == a->pays ? 1.0 : 0.0;
}

/* --- EXP3 on n weights with their sum. --- */

static inline void start(double *w, int n, double *sum) {
    for (int i = 0; i < n; i++) w[i] = 1.0;
    *sum = n;
}

static inline int draw(const double *w, int n, double sum, double gamma, double *chance) {
    double u = uniform();
    int i;
    if (u < gamma) {
        i = (int)(u / gamma * n);
    } else {
        double x = (u - gamma) / (1.0 - gamma) * sum;
        for (i = 0; i < n - 1; i++) {
            x -= w[i];
            if (x < 0.0) break;
        }
    }
    *chance = (1.0 - gamma) * w[i] / sum + gamma / n;
    return i;
}

static inline void learn(double *w, int n, double *sum, double gamma, int i, double chance, double r) {
    if (r == 0.0) return;
    double grown = w[i] * exp(gamma * r / (chance * n));
    *sum += grown - w[i];
    w[i] = grown;
    if (*sum > 1e100) {
        double scale = 1.0 / *sum;
        *sum = 0.0;
        for (int j = 0; j < n; j++) *sum += w[j] *= scale;
    }
}

static double exp3(Trap a, int64_t steps, double gamma) {
    int n = (int)a.arms;
    double w[4096], sum, chance, earned = 0.0;
    start(w, n, &sum);
    for (int64_t t = 0; t < steps; t++) {
        int i = draw(w, n, sum, gamma, &chance);
        double r = reward(&a, t, i);
        learn(w, n, &sum, gamma, i, chance, r);
        earned += r;
    }
    return earned;
}

static double hlmc(Trap a, int64_t steps, int groups, int64_t epoch, double above, double below) {
    int size = ((int)a.arms + groups - 1) / groups;
    double top[4096], w[4096], top_sum, sum, top_chance, chance, earned = 0.0;
    start(top, groups, &top_sum);
    for (int64_t t = 0; t < steps;) {
        int group = draw(top, groups, top_sum, above, &top_chance);
        int64_t end = t + epoch < steps ? t + epoch : steps;
        int64_t length = end - t;
        double within = 0.0;
        start(w, size, &sum);
        for (; t < end; t++) {
            int i = draw(w, size, sum, below, &chance);
            double r = reward(&a, t, group * size + i);
            learn(w, size, &sum, below, i, chance, r);
            within += r;
        }
        learn(top, groups, &top_sum, above, group, top_chance, within / (double)length);
        earned += within;
    }
    return earned;
}

/* --- Tsallis-INF, four losses at a time; slots past the last have losses of 1e55.

   A step makes one pass over the losses. The pass adds the baseline, takes the power sums S_2 and S_3 of r = scale /
   (loss - x) at the predicted x, and keeps the running sums of r^2, in which the next draw counts. From S_2 and S_3
   one step of Newton's method predicts the next x (docs/research/champion.md, "The draw"). --- */

typedef double Four __attribute__((vector_size(32)));
typedef int64_t Truths __attribute__((vector_size(32)));

#define SLOTS 128
typedef struct {
    Four loss[SLOTS / 4], run[SLOTS / 4]; /* run[k]: the sum of r^2 up to four k, lane by lane */
    int n, fours, last; /* the slot drawn last */
    double x, scale, s2, s3, beyond; /* the sums at x and scale; beyond: the part of S_3 of slots with p < eta^2 */
    double lanes[4];                 /* S_2 lane by lane */
} Leader;

static inline double *losses(Leader *f) { return (double *)f->loss; }

static inline double added(Four v) { return (v[0] + v[2]) + (v[1] + v[3]); }

/* Add the baseline to losses up to `near`, and take the sums at x and scale; `above` more to the loss of slot i.

   A number stored alone would hold up the load of its four until the store has retired. */
static inline void pass(Leader *f, double x, double scale, double near, double baseline, int i, double above) {
    Four a = {0}, b = {0}, c = {0}, add = a + baseline, more = a + above;
    Truths slot = {0, 1, 2, 3};
    double far = 0.5 * scale * scale;
    for (int k = 0; k < f->fours; k++, slot += 4) {
        Four l = f->loss[k] + (Four)((f->loss[k] <= near) & (Truths)add) + (Four)((slot == i) & (Truths)more);
        Four d = l - x, r = scale / d, p = r * r, q = p * r;
        f->loss[k] = l;
        f->run[k] = a += p;
        b += q, c += (Four)((d > far) & (Truths)q);
    }
    for (int j = 0; j < 4; j++) f->lanes[j] = a[j];
    f->x = x, f->scale = scale, f->s2 = added(a), f->s3 = added(b), f->beyond = added(c);
}

/* The x for which the probabilities sum to 1, and the sums there. */
static __attribute__((noinline)) void solve(Leader *f, double x, double scale) {
    double least = 1e55, z = 1.0;
    for (int j = 0; j < f->n; j++) least = losses(f)[j] < least ? losses(f)[j] : least;
    x = x < least - scale ? x : least - scale;
    for (int step = 0; step < 64; step++) {
        pass(f, x, scale, -1e55, 0.0, -1, 0.0);
        if (fabs(z) < 1e-7) return;
        z = f->s2 * (1.0 - sqrt(f->s2)) / f->s3;
        x = x + scale * z < least - scale ? x + scale * z : least - scale;
    }
}

static void lead(Leader *f, int n, double behind, double x, double scale) {
    f->n = n;
    f->fours = (n + 3) / 4;
    f->last = 0;
    for (int i = 0; i < 4 * f->fours; i++) losses(f)[i] = i >= n ? 1e55 : i ? behind : 0.0;
    pass(f, x, scale, -1e55, 0.0, -1, 0.0);
}

/* A slot with probability r^2 / S_2: first the lane, then the place in it.

   Mostly it is the slot of the last draw. The branch on that is predicted, so that the step goes on at once. */
static inline int follow(Leader *f) {
    const double *s = f->lanes;
    double u = uniform() * f->s2, one = s[0] + s[1], two = one + s[2];
    int lane = (u >= s[0]) + (u >= one) + (u >= two);
    u -= (double[]){0.0, s[0], one, two}[lane];
    Truths passed = {0};
    for (int k = 0; k < f->fours; k++) passed -= f->run[k] <= u;
    int i = 4 * (int)passed[lane] + lane, guess = f->last, same = guess;
    __asm__("" : "+r"(same)); /* or the compiler would return i, and the processor wait for it */
    if (i == same) return guess;
    return f->last = i < f->n ? i : f->n - 1;
}

static inline double chance(Leader *f, int i) {
    double r = f->scale / (losses(f)[i] - f->x);
    return r * r / f->s2;
}

/* Learn the loss of a slot that was drawn, and make the sums for the next scale. */
static inline void lose(Leader *f, int i, double loss, double baseline, double next) {
    double x = f->x, scale = f->scale, far = 0.5 * scale * scale, near = x + far, inverse = 1.0 / scale;
    double d = losses(f)[i] - x, root = d * inverse, old = scale / d, old2 = old * old, old3 = old2 * old;
    double own = d <= far ? baseline : 0.0, above = (loss - own) * f->s2 * (root * root);
    double after = d - (baseline - own) + above;
    double rise = baseline * inverse, grown = next * inverse, grown2 = grown * grown;
    double new = next / (after > 0.5 * next ? after : 0.5 * next), new2 = new * new;
    double others = f->s2 - old2 + 2.0 * rise * (f->beyond - (d > far ? old3 : 0.0));
    double e = (others * grown2 - 1.0) + new2;
    double z = e * ((0.0625 * (e * e) - 0.5) - 0.375 * e) / ((f->s3 - old3) * (grown2 * grown) + new2 * new);
    int good = after >= 0.9 * next && fabs(z) <= 0.25 && rise <= 1.0;
    double step = next * z, held = 0.4 / (next * next);
    if (!good) step = fmin(fmin(step, 0.25 * next), after - next);
    held = held < 1e-12 ? 1e-12 : held > 0.05 ? 0.05 : held;
    x += baseline + step;
    pass(f, x, next, near, baseline, i, above);
    if (!good || fabs(f->s2 - 1.0) > held) solve(f, x, next);
}

static double tsallis(Trap a, int64_t steps) {
    Leader f;
    double earned = 0.0;
    lead(&f, (int)a.arms, 0.0, -0.5 * sqrt((double)a.arms), 0.5);
    for (int64_t t = 0; t < steps; t++) {
        int i = follow(&f);
        double r = reward(&a, t, i);
        lose(&f, i, 1.0 - r, 0.5, 0.5 * sqrt((double)t + 2.0));
        earned += r;
    }
    return earned;
}

static double champion(Trap a, int64_t steps, int groups, int64_t epoch, double least) {
    int size = ((int)a.arms + groups - 1) / groups, place[SLOTS], arm[SLOTS], order[4096], best = -1;
    int crisis = 0, rematch = 0, group = 0;
    double doubt = 0.5, usual = 0.5, spread = 0.25, earned = 0.0;
    int64_t turn = 0, s = 0;
    Leader top, f;
    for (int i = 0; i < a.arms; i++) order[i] = i;
    for (int i = (int)a.arms - 1; i > 0; i--) {
        int j = (int)(uniform() * (i + 1)), other = order[i];
        order[i] = order[j], order[j] = other;
    }
    lead(&top, groups, 0.0, -0.5 * sqrt((double)groups), 0.5);
    for (int64_t t = 0; t < steps; s++) {
        int may = best >= 0 && (double)turn + 1.0 <= 4.0 * sqrt((double)s + 1.0), after = crisis;
        int challenge = may && uniform() < (crisis || rematch ? 0.9375 : 0.4 / sqrt((double)s + 1.0));
        if (!challenge) group = follow(&top);
        else if (!rematch) group = (int)(turn % groups);
        turn += challenge;
        int first = group * size, arms = first + size < a.arms ? size : (int)a.arms - first, n = 0;
        place[n++] = best < 0 ? first : best;
        for (int j = first; j < first + arms; j++)
            if (j != place[0]) place[n++] = j;
        for (int j = 0; j < n; j++) arm[j] = order[place[j]];
        double left = best < 0 ? 1.0 : challenge ? 0.75 : doubt;
        left = left < (n - 1.0) / n ? left : (n - 1.0) / n;
        double scale = 0.5 * sqrt((double)epoch + 1.0), sure = sqrt(1.0 - left);
        lead(&f, n, scale * (sqrt((n - 1.0) / left) - 1.0 / sure), -scale / sure, scale);
        int64_t began = t, end = t + epoch < steps ? t + epoch : steps;
        double baseline = 0.5, within = 0.0;
        for (; t < end; t++) {
            double tau = (double)(t - began);
            int i = follow(&f);
            double r = reward(&a, t, arm[i]);
            lose(&f, i, 1.0 - r, baseline, 0.5 * sqrt((double)epoch + tau + 2.0));
            baseline += (tau < 48.0 ? 1.0 / (tau + 2.0) : 0.02) * (1.0 - r - baseline);
            within += r;
        }
        double length = (double)(end - began), loss = 1.0 - within / length, above = loss - usual;
        double most = 0.5 / sqrt(length), rate = s < 8 ? 1.0 / ((double)s + 2.0) : 0.1;
        crisis = s >= 5 && above > 4.0 * most;
        if (!challenge) spread += rate * (above * above - spread);
        else if (s >= 5 && -above > 1.5 * fmin(most, fmax(0.001, sqrt(spread)))) doubt = 0.5;
        usual += rate * above;
        if (!challenge) lose(&top, group, loss, 0.5, 0.5 * sqrt((double)(s - turn) + 2.0));
        int winner = 0;
        for (int j = 1; j < n; j++)
            if (losses(&f)[j] < losses(&f)[winner]) winner = j;
        double held = chance(&f, 0);
        int beaten = winner && (!challenge || chance(&f, winner) >= 0.5);
        int firm = doubt <= 0.1 && !crisis && !rematch && !(challenge && after);
        firm = firm && (double)turn + 1.0 <= 4.0 * sqrt((double)s + 2.0);
        rematch = best >= 0 && beaten && firm;
        if (best < 0 || (beaten && !firm)) {
            best = place[winner];
            doubt = 0.5;
            crisis = 0;
        } else if (!beaten && !challenge && held >= 0.5) {
            doubt = 0.6 * doubt > least ? 0.6 * doubt : least;
        }
        earned += within;
    }
    return earned;
}

/* --- UCB-M: means and 1 / sqrt(plays) in tables; of ties the first. --- */

static double ucbm(Trap a, int64_t steps) {
    int M = (int)a.memory, K = (int)a.arms, place[SLOTS], carried = -1, base = 0;
    double mean[SLOTS], width[SLOTS], plays[SLOTS], sum[SLOTS], earned = 0.0;
    int64_t h0 = (K - 1 + M - 2) / (M - 1), length = (int64_t)M * (M + 2), sub = 0;
    for (int64_t t = 0; t < steps;) {
        int n = 0;
        if (carried >= 0) place[n++] = carried;
        for (; n < M && base < K; base++)
            if (base != carried) place[n++] = base;
        for (int j = 0; j < n; j++) plays[j] = sum[j] = 0.0;
        int64_t began = t, end = t + length < steps ? t + length : steps;
        for (; t < end; t++) {
            int64_t tau = t - began;
            int i = tau < n ? (int)tau : 0;
            if (tau >= n) {
                double spread = sqrt(2.0 * log((double)tau + 1.0)), high = -1.0;
                for (int j = 0; j < n; j++) {
                    double index = mean[j] + spread * width[j];
                    if (index > high) high = index, i = j;
                }
            }
            double r = reward(&a, t, place[i]);
            sum[i] += r, plays[i] += 1.0;
            mean[i] = sum[i] / plays[i], width[i] = 1.0 / sqrt(plays[i]);
            earned += r;
        }
        int most = 0;
        for (int j = 1; j < n; j++)
            if (plays[j] > plays[most]) most = j;
        carried = place[most];
        if (++sub == h0) sub = 0, length *= 2, base = 0;
    }
    return earned;
}

int main(int count, char **v) {
    double means[4096];
    if (count < 7 || atoll(v[3]) > 4096) return 2;
    const char *what = v[1];
    counter = 1;
    for (int i = 0; i < 4096; i++) means[i] = uniform();
    Trap a = trap(atoll(v[3]), atoll(v[4]), strcmp(v[2], "means") ? NULL : means);
    int64_t steps = atoll(v[5]);
    counter = strtoull(v[count - 1], NULL, 10);
    double earned;
    clock_t began = clock();
    if (!strcmp(what, "exp3") && count == 8) earned = exp3(a, steps, atof(v[6]));
    else if (!strcmp(what, "hlmc") && count == 11)
        earned = hlmc(a, steps, atoi(v[6]), atoll(v[7]), atof(v[8]), atof(v[9]));
    else if (!strcmp(what, "tsallis") && count == 7 && a.arms <= SLOTS) earned = tsallis(a, steps);
    else if (!strcmp(what, "champion") && count == 10) earned = champion(a, steps, atoi(v[6]), atoll(v[7]), atof(v[8]));
    else if (!strcmp(what, "ucbm") && count == 7 && a.memory <= SLOTS) earned = ucbm(a, steps);
    else return 2;
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    printf("%.4f %.1f\n", 1e9 * seconds / (double)steps, earned);
    return 0;
}
