// Times generated functions, taking turns: all of one model and question in one run, best and median ns per state.
//
//   bench NQ NV IN OUT ROUNDS {casadi|single|lanes LIBRARY FUNCTION}...
//
// IN is 1 (q) or 3 (q, v, x), OUT the length of the result, which every call writes to the same place. A line per function: best, median.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STATES 64
#define LANES 8
#define CALLS 16 // rounds through all states per measurement

typedef int casadi(const double **in, double **out, long long *iw, double *w, int memory);
typedef int casadi_work(long long *arg, long long *res, long long *iw, long long *w);
typedef void one(const double *q, double *out);
typedef void three(const double *q, const double *v, const double *x, double *out);

struct entry {
    char kind;
    void *function;
    const double **arg;
    double **res;
    long long *iw;
    double *w;
    double *times;
};

static double *aligned(size_t count)
{
    double *memory = aligned_alloc(64, (count * sizeof(double) + 127) / 64 * 64);
    if (!memory) exit(2);
    memset(memory, 0, count * sizeof(double));
    return memory;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double uniform(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1.0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words)
{
    if (count < 9 || count % 3) {
        fprintf(stderr, "usage: bench NQ NV IN OUT ROUNDS {KIND LIBRARY FUNCTION}...\n");
        return 2;
    }
    const int nq = atoi(words[1]), nv = atoi(words[2]), in = atoi(words[3]), length = atoi(words[4]), rounds = atoi(words[5]);
    const int entries = (count - 6) / 3;
    // one state after the other, and eight side by side
    double *q = aligned(STATES * nq), *v = aligned(STATES * nv), *x = aligned(STATES * nv), *out = aligned(length * LANES);
    double *wide_q = aligned(STATES * nq), *wide_v = aligned(STATES * nv), *wide_x = aligned(STATES * nv);
    for (int s = 0; s < STATES; s++) {
        for (int k = 0; k < nq; k++) q[s * nq + k] = 3.0 * uniform();
        if (nq != nv) {
            // the quaternion of a free base
            double *p = q + s * nq + 3, size = 0;
            for (int k = 0; k < 4; k++) size += p[k] * p[k];
            for (int k = 0; k < 4; k++) p[k] /= __builtin_sqrt(size);
        }
        for (int k = 0; k < nv; k++) v[s * nv + k] = uniform(), x[s * nv + k] = uniform();
    }
    for (int s = 0; s < STATES; s++) {
        const int block = s / LANES, lane = s % LANES;
        for (int k = 0; k < nq; k++) wide_q[(block * nq + k) * LANES + lane] = q[s * nq + k];
        for (int k = 0; k < nv; k++) wide_v[(block * nv + k) * LANES + lane] = v[s * nv + k];
        for (int k = 0; k < nv; k++) wide_x[(block * nv + k) * LANES + lane] = x[s * nv + k];
    }
    struct entry *list = calloc(entries, sizeof *list);
    for (int e = 0; e < entries; e++) {
        char **word = words + 6 + 3 * e;
        void *library = dlopen(word[1], RTLD_NOW | RTLD_LOCAL);
        list[e].kind = word[0][0];
        list[e].function = library ? dlsym(library, word[2]) : NULL;
        list[e].times = calloc(rounds, sizeof(double));
        if (!list[e].function) {
            fprintf(stderr, "error: %s\n", dlerror());
            return 2;
        }
        if (list[e].kind == 'c') {
            char name[200];
            snprintf(name, sizeof name, "%s_work", word[2]);
            long long arg, res, iw, w;
            ((casadi_work *)dlsym(library, name))(&arg, &res, &iw, &w);
            list[e].arg = calloc(arg + 1, sizeof(double *));
            list[e].res = calloc(res + 1, sizeof(double *));
            list[e].iw = calloc(iw + 1, sizeof(long long));
            list[e].w = aligned(w + 1);
        }
    }
    for (int round = 0; round < rounds; round++) {
        for (int e = 0; e < entries; e++) {
            struct entry *at = list + e;
            const double start = now();
            for (int call = 0; call < CALLS; call++) {
                if (at->kind == 'c') {
                    for (int s = 0; s < STATES; s++) {
                        at->arg[0] = q + s * nq, at->arg[1] = v + s * nv, at->arg[2] = x + s * nv, at->res[0] = out;
                        ((casadi *)at->function)(at->arg, at->res, at->iw, at->w, 0);
                    }
                } else if (at->kind == 's') {
                    for (int s = 0; s < STATES; s++) {
                        if (in == 1) ((one *)at->function)(q + s * nq, out);
                        else ((three *)at->function)(q + s * nq, v + s * nv, x + s * nv, out);
                    }
                } else {
                    for (int b = 0; b < STATES / LANES; b++) {
                        if (in == 1) ((one *)at->function)(wide_q + b * nq * LANES, out);
                        else ((three *)at->function)(wide_q + b * nq * LANES, wide_v + b * nv * LANES, wide_x + b * nv * LANES, out);
                    }
                }
            }
            at->times[round] = (now() - start) / (CALLS * STATES);
        }
    }
    for (int e = 0; e < entries; e++) {
        qsort(list[e].times, rounds, sizeof(double), ascending);
        printf("%.3f %.3f\n", list[e].times[0], list[e].times[rounds / 2]);
    }
    return 0;
}
