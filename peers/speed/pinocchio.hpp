// The Pinocchio engine: what its source files share.
#pragma once
#include "engine.h"
#include <memory>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <vector>

namespace pin = pinocchio;

struct Engine {
    pin::Model model;
    std::unique_ptr<pin::Data> data;
    States states{};
    // the same states as vectors of Eigen, so that no call pays for a conversion
    std::vector<Eigen::VectorXd> q, v, vdot, tau;
    Eigen::VectorXd x;
};
extern Engine engine;

// Results: vectors as they are, matrices by rows.
long vector_size();
long matrix_size();
long write_vector(const Eigen::VectorXd &vector, double *into);
long write_matrix(const Eigen::MatrixXd &matrix, double *into);
// A symmetric matrix of which only the upper triangle is filled.
long write_upper(const Eigen::MatrixXd &matrix, double *into);

std::vector<Call> dynamics_calls();
std::vector<Call> derivative_calls();
