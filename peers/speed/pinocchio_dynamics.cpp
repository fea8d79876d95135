// Inverse and forward dynamics, inertia matrix and its factors, each in every way Pinocchio offers that could be the fastest.
#include "pinocchio.hpp"
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

namespace {

void rnea(long k)
{
    pin::rnea(engine.model, *engine.data, engine.q[k], engine.v[k], engine.vdot[k]);
}

template<pin::Convention convention>
void aba(long k)
{
    pin::aba(engine.model, *engine.data, engine.q[k], engine.v[k], engine.tau[k], convention);
}

template<pin::Convention convention>
void crba(long k)
{
    pin::crba(engine.model, *engine.data, engine.q[k], convention);
}

template<pin::Convention convention>
void crba_cholesky(long k)
{
    pin::crba(engine.model, *engine.data, engine.q[k], convention);
    pin::cholesky::decompose(engine.model, *engine.data);
}

template<pin::Convention convention>
void solve(long k)
{
    crba_cholesky<convention>(k);
    pin::nonLinearEffects(engine.model, *engine.data, engine.q[k], engine.v[k]);
    engine.x = engine.tau[k] - engine.data->nle;
    pin::cholesky::solve(engine.model, *engine.data, engine.x);
}

long read_tau(long, double *into) { return write_vector(engine.data->tau, into); }
long read_acceleration(long, double *into) { return write_vector(engine.data->ddq, into); }
long read_solution(long, double *into) { return write_vector(engine.x, into); }
long read_inertia(long, double *into) { return write_upper(engine.data->M, into); }

// What the factors solve: M x = τ.
long read_factors(long k, double *into)
{
    engine.x = engine.tau[k];
    pin::cholesky::solve(engine.model, *engine.data, engine.x);
    return write_vector(engine.x, into);
}

} // namespace

std::vector<Call> dynamics_calls()
{
    constexpr auto local = pin::Convention::LOCAL, world = pin::Convention::WORLD;
    return {
        {"inverse/rnea", rnea, read_tau, vector_size},
        {"forward/aba-local", aba<local>, read_acceleration, vector_size},
        {"forward/aba-world", aba<world>, read_acceleration, vector_size},
        {"forward/crba-cholesky-local", solve<local>, read_solution, vector_size},
        {"forward/crba-cholesky-world", solve<world>, read_solution, vector_size},
        {"inertia/crba-local", crba<local>, read_inertia, matrix_size},
        {"inertia/crba-world", crba<world>, read_inertia, matrix_size},
        {"factorization/crba-cholesky-local", crba_cholesky<local>, read_factors, vector_size},
        {"factorization/crba-cholesky-world", crba_cholesky<world>, read_factors, vector_size},
    };
}
