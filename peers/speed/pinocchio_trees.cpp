// What the program for trees offers.
#include "pinocchio.hpp"

std::vector<Call> engine_calls()
{
    std::vector<Call> calls = dynamics_calls();
    for (const Call &call : derivative_calls()) calls.push_back(call);
    return calls;
}

void engine_loaded() {}
