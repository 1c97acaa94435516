/* The yardstick: EXP3 and two-level HLMC against experiment 1, as one would write them by hand, each in one plain loop.

   A program prints nanoseconds of processor time a step and the reward earned:

       reference exp3 ARMS MEMORY STEPS GAMMA SEED
       reference hlmc ARMS MEMORY STEPS GROUPS EPOCH GAMMA_ABOVE GAMMA_BELOW SEED

   MEMORY is that of the adversary, BlockTrap: sub-phase u of a phase of h0 sub-phases pays 1 to arm M (u + 1) mod K.
   Random numbers are SplitMix64's, one a choice. Weights are drawn by walking along them. */

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

/* --- The adversary: which arm pays, and until when. --- */

typedef struct {
    int64_t arms, memory, h0, length, until, sub, pays;
} Trap;

static Trap trap(int64_t arms, int64_t memory) {
    Trap a = {arms, memory, (arms - 1 + memory - 2) / (memory - 1), memory * (memory + 2), 0, -1, 0};
    return a;
}

static inline double reward(Trap *a, int64_t t, int64_t arm) {
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

int main(int count, char **v) {
    int flat = count > 1 && !strcmp(v[1], "exp3");
    if (count != (flat ? 7 : 10)) return 2;
    Trap a = trap(atoll(v[2]), atoll(v[3]));
    int64_t steps = atoll(v[4]);
    counter = strtoull(v[count - 1], NULL, 10);
    clock_t began = clock();
    double earned = flat ? exp3(a, steps, atof(v[5])) : hlmc(a, steps, atoi(v[5]), atoll(v[6]), atof(v[7]), atof(v[8]));
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    printf("%.4f %.1f\n", 1e9 * seconds / (double)steps, earned);
    return 0;
}
