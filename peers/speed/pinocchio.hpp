// The Pinocchio engine: what its source files share.
#pragma once
#include "engine.h"
#include <memory>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <vector>

namespace pin = pinocchio;

// A constraint of a tree file: a point on a point, or a frame on a frame.
struct Loop {
    bool whole; // all six directions
    pin::JointIndex one, two;
    pin::SE3 on_one, on_two;
};

struct Engine {
    pin::Model model;
    std::vector<Loop> loops;
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

// What a program offers, and what it makes once a model is there: pinocchio_trees.cpp or pinocchio_closed.cpp.
std::vector<Call> engine_calls();
void engine_loaded();

std::vector<Call> dynamics_calls();
std::vector<Call> derivative_calls();
