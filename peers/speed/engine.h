/* What the programs of the peers have in common, C and C++ alike: they read orders from standard input, one per line, and answer
 * each with one line.
 *
 *   load TREE STATES                        -> loaded NQ NV
 *   calls                                   -> calls QUANTITY/VARIANT ...
 *   results QUANTITY/VARIANT COUNT FILE     -> done          results of the first COUNT states, as doubles, to a file
 *   time QUANTITY/VARIANT SECONDS           -> times BEST MEDIAN CALLS             ns per state
 *   quit
 *
 * A line that begins with "error" tells what went wrong. The Rust bench `peers` speaks the same language.
 *
 * A file of states holds, as little-endian 64-bit numbers: the integers COUNT NQ NV, then as doubles all q (COUNT × NQ), all v, all v̇
 * and all τ (COUNT × NV each), in the coordinates of the engine it is for.
 */
#ifndef SPEED_ENGINE_H
#define SPEED_ENGINE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Length of a repetition. Long against the clock's own cost, short enough that many fit between two interruptions. */
#define REPETITION_NS 2e5
#define MOST_REPETITIONS 20000

typedef struct {
    long count, nq, nv;
    double *q, *v, *vdot, *tau; /* one state after another */
} States;

/* One way to compute one quantity. */
typedef struct {
    const char *name;                       /* QUANTITY/VARIANT */
    void (*run)(long state);                /* what is timed */
    long (*read)(long state, double *into); /* the result of the last run, at that state: writes it, returns its length */
    long (*size)(void);                     /* that length */
} Call;

/* What an engine has to give. */
typedef struct {
    const char *(*load)(const char *tree, const char *states); /* NULL, or what is wrong */
    States *states;
    const Call *calls;
    int call_count;
} Program;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const char *read_states(const char *path, States *states)
{
    FILE *file = fopen(path, "rb");
    if (!file) return "the file of states cannot be opened";
    int64_t head[3];
    if (fread(head, sizeof head, 1, file) != 1) {
        fclose(file);
        return "the file of states is too short";
    }
    states->count = (long)head[0], states->nq = (long)head[1], states->nv = (long)head[2];
    const size_t per_state = (size_t)(states->nq + 3 * states->nv);
    const size_t total = per_state * (size_t)states->count;
    free(states->q);
    states->q = (double *)malloc(total * sizeof(double));
    const size_t got = fread(states->q, sizeof(double), total, file);
    fclose(file);
    if (got != total) return "the file of states is too short";
    states->v = states->q + states->count * states->nq;
    states->vdot = states->v + states->count * states->nv;
    states->tau = states->vdot + states->count * states->nv;
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs a call again and again, state after state, and prints best and median time. */
static void measure(const Program *program, const Call *call, double seconds)
{
    static double times[MOST_REPETITIONS];
    const long count = program->states->count;
    long state = 0, warm = 0;
    const double start = now_ns();
    do {
        call->run(state);
        state = state + 1 < count ? state + 1 : 0;
        warm++;
    } while (warm < count && now_ns() - start < 0.1 * seconds * 1e9);
    const double guess = (now_ns() - start) / (double)warm;
    long calls = (long)(REPETITION_NS / guess);
    if (calls < 1) calls = 1;
    long repetitions = 0;
    const double end = now_ns() + seconds * 1e9;
    double before = now_ns();
    do {
        for (long k = 0; k < calls; k++) {
            call->run(state);
            __asm__ volatile("" ::: "memory");
            state = state + 1 < count ? state + 1 : 0;
        }
        const double after = now_ns();
        times[repetitions++] = (after - before) / (double)calls;
        before = after;
    } while (before < end && repetitions < MOST_REPETITIONS);
    qsort(times, (size_t)repetitions, sizeof(double), by_size);
    printf("times %.3f %.3f %ld\n", times[0], times[repetitions / 2], calls * repetitions);
}

static void write_results(const Program *program, const Call *call, long count, const char *path)
{
    FILE *file = fopen(path, "wb");
    double *result = (double *)malloc((size_t)call->size() * sizeof(double));
    if (!file || !result) {
        printf("error no file or no memory for results\n");
    } else {
        int fine = 1;
        for (long state = 0; state < count && state < program->states->count; state++) {
            call->run(state);
            const size_t length = (size_t)call->read(state, result);
            fine = fine && fwrite(result, sizeof(double), length, file) == length;
        }
        printf(fine ? "done\n" : "error results cannot be written\n");
    }
    free(result);
    if (file) fclose(file);
}

static const Call *find_call(const Program *program, const char *name)
{
    for (int k = 0; k < program->call_count; k++)
        if (!strcmp(program->calls[k].name, name)) return &program->calls[k];
    return NULL;
}

static int serve(const Program *program)
{
    char line[4096], first[2048], second[2048];
    double number;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "quit")) return 0;
        if (!strcmp(line, "calls")) {
            printf("calls");
            for (int k = 0; k < program->call_count; k++) printf(" %s", program->calls[k].name);
            printf("\n");
        } else if (sscanf(line, "load %2047s %2047s", first, second) == 2) {
            const char *problem = program->load(first, second);
            if (problem) printf("error %s\n", problem);
            else printf("loaded %ld %ld\n", program->states->nq, program->states->nv);
        } else if (sscanf(line, "time %2047s %lf", first, &number) == 2 && find_call(program, first)) {
            measure(program, find_call(program, first), number);
        } else if (sscanf(line, "results %2047s %lf %2047s", first, &number, second) == 3 && find_call(program, first)) {
            write_results(program, find_call(program, first), (long)number, second);
        } else {
            printf("error not understood: %s\n", line);
        }
        fflush(stdout);
    }
    return 0;
}

#endif
