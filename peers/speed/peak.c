/* How many floating-point operations can one core of this machine do, at most? Fused multiply-adds (two operations each) on twelve
 * independent registers, which hides their latency: plain, in AVX2 and in AVX-512 registers. Prints one line per kind:
 * NAME GFLOP/s; and the clock, from a chain of dependent additions. */
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 200
#define LOOPS 20000L
#define REGISTERS 12

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The empty assembly keeps each register a register of its own: nothing is merged, hoisted or vectorised. */
#define PEAK(NAME, FEATURES, TYPE, SET, FMA, CONSTRAINT)                                                                            \
    __attribute__((target(FEATURES), noinline)) static double NAME(void)                                                           \
    {                                                                                                                              \
        double best = 1e300;                                                                                                       \
        for (int round = 0; round < ROUNDS; round++) {                                                                             \
            const TYPE factor = SET(0.999999), term = SET(1e-6);                                                                   \
            TYPE x0 = term, x1 = term, x2 = term, x3 = term, x4 = term, x5 = term, x6 = term, x7 = term, x8 = term, x9 = term,      \
                 x10 = term, x11 = term;                                                                                           \
            const double start = now_ns();                                                                                         \
            for (long k = 0; k < LOOPS; k++) {                                                                                     \
                x0 = FMA(x0, factor, term), x1 = FMA(x1, factor, term), x2 = FMA(x2, factor, term);                                \
                x3 = FMA(x3, factor, term), x4 = FMA(x4, factor, term), x5 = FMA(x5, factor, term);                                \
                x6 = FMA(x6, factor, term), x7 = FMA(x7, factor, term), x8 = FMA(x8, factor, term);                                \
                x9 = FMA(x9, factor, term), x10 = FMA(x10, factor, term), x11 = FMA(x11, factor, term);                            \
                __asm__ volatile("" : CONSTRAINT(x0), CONSTRAINT(x1), CONSTRAINT(x2), CONSTRAINT(x3), CONSTRAINT(x4),              \
                                 CONSTRAINT(x5), CONSTRAINT(x6), CONSTRAINT(x7), CONSTRAINT(x8), CONSTRAINT(x9), CONSTRAINT(x10),  \
                                 CONSTRAINT(x11));                                                                                 \
            }                                                                                                                      \
            const double time = now_ns() - start;                                                                                  \
            best = time < best ? time : best;                                                                                      \
        }                                                                                                                          \
        return 2.0 * REGISTERS * LOOPS * (sizeof(TYPE) / sizeof(double)) / best;                                                   \
    }

#define SAME(x) (x)
PEAK(scalar, "fma", double, SAME, __builtin_fma, "+x")
PEAK(avx2, "avx2,fma", __m256d, _mm256_set1_pd, _mm256_fmadd_pd, "+x")
PEAK(avx512, "avx512f", __m512d, _mm512_set1_pd, _mm512_fmadd_pd, "+v")

static double clock_ghz(void)
{
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned long x = 1;
        const double start = now_ns();
        for (long k = 0; k < LOOPS; k++)
            __asm__ volatile("add %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\t"
                             "add %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\tadd %0, %0" : "+r"(x));
        const double time = now_ns() - start;
        best = time < best ? time : best;
    }
    return 8.0 * LOOPS / best;
}

int main(void)
{
    printf("clock %.3f\n", clock_ghz());
    if (__builtin_cpu_supports("fma")) printf("scalar %.2f\n", scalar());
    if (__builtin_cpu_supports("avx2")) printf("avx2 %.2f\n", avx2());
    if (__builtin_cpu_supports("avx512f")) printf("avx512 %.2f\n", avx512());
    return 0;
}
