// Analytical derivatives of inverse and forward dynamics.
#include "pinocchio.hpp"
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

namespace {

void rnea_derivatives(long k)
{
    pin::computeRNEADerivatives(engine.model, *engine.data, engine.q[k], engine.v[k], engine.vdot[k]);
}

void aba_derivatives(long k)
{
    pin::computeABADerivatives(engine.model, *engine.data, engine.q[k], engine.v[k], engine.tau[k]);
}

long three_matrices() { return 3 * matrix_size(); }

// ∂τ/∂q, ∂τ/∂v, ∂τ/∂v̇
long read_inverse(long, double *into)
{
    const pin::Data &data = *engine.data;
    long at = write_matrix(data.dtau_dq, into);
    at += write_matrix(data.dtau_dv, into + at);
    return at + write_upper(data.M, into + at);
}

// ∂v̇/∂q, ∂v̇/∂v, ∂v̇/∂τ
long read_forward(long, double *into)
{
    const pin::Data &data = *engine.data;
    long at = write_matrix(data.ddq_dq, into);
    at += write_matrix(data.ddq_dv, into + at);
    return at + write_upper(data.Minv, into + at);
}

} // namespace

std::vector<Call> derivative_calls()
{
    return {
        {"inverse-derivatives/rnea-derivatives", rnea_derivatives, read_inverse, three_matrices},
        {"forward-derivatives/aba-derivatives", aba_derivatives, read_forward, three_matrices},
    };
}
