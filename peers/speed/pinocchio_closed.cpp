// Forward dynamics of closed chains, in every way Pinocchio offers that could be the fastest. The methods are proximal: each is
// offered as one exact step where it has one, and with steps until its own residual is below 1e-12. How right each is at which
// settings is found by the caller, who compares with exact accelerations. A method that cannot take a mechanism gives NaN.
#include "pinocchio.hpp"
#include <Eigen/StdVector>
#include <limits>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>
#include <pinocchio/algorithm/pv.hpp>
#include <pinocchio/constraints.hpp>

namespace {

template<class T>
using Aligned = std::vector<T, Eigen::aligned_allocator<T>>;
using Settings = pin::ProximalSettings;

// A method has constraints of its own kind and its own Data: what one leaves there, another must not find.
template<class Model>
struct Constraints {
    using OneData = typename Model::ConstraintData;
    Aligned<Model> models;
    Aligned<OneData> datas;
    std::unique_ptr<pin::Data> data;

    void clear()
    {
        models.clear();
        datas.clear();
        data.reset();
    }

    void add(const Model &model)
    {
        models.push_back(model);
        datas.push_back(model.createData());
    }
};

Constraints<pin::RigidConstraintModel> cholesky, elimination;
Constraints<pin::FrameAnchorConstraintModel> frames;
Constraints<pin::PointAnchorConstraintModel> points;

void give_up() { engine.x.setConstant(std::numeric_limits<double>::quiet_NaN()); }

// Sparse Cholesky factorization of the whole system; the settings are those of the call.
template<int steps>
void constraint_dynamics(long k)
{
    Settings settings = steps == 1 ? Settings(1e-12, 1e-12, 0.0, 1) : Settings(1e-12, 1e-12, 1e-8, steps);
    auto &c = cholesky;
    engine.x = pin::constraintDynamics(engine.model, *c.data, engine.q[k], engine.v[k], engine.tau[k], c.models, c.datas, settings);
}

// Loop constraints eliminated along the tree; the first number is the compliance of one step.
template<int exponent, int steps>
void lcaba(long k)
{
    const double compliance = exponent == 6 ? 1e-6 : exponent == 8 ? 1e-8 : 1e-10;
    Settings settings(1e-12, 1e-12, compliance, steps);
    auto &c = elimination;
    // for a frame on a frame it takes the accelerations of these bodies as zero, but leaves those of its last call
    for (const Loop &loop : engine.loops) {
        c.data->oa[loop.one].setZero();
        c.data->oa[loop.two].setZero();
    }
    engine.x = pin::lcaba(engine.model, *c.data, engine.q[k], engine.v[k], engine.tau[k], c.models, c.datas, settings);
}

template<class Model>
void anchored(Constraints<Model> &c, bool exact, int steps, long k)
{
    if (exact) {
        Settings settings(1e-12, 1e-12, 0.0, 1);
        engine.x = pin::pv(engine.model, *c.data, engine.q[k], engine.v[k], engine.tau[k], c.models, c.datas, settings);
    } else {
        Settings settings(1e-12, 1e-12, 1e-6, steps);
        engine.x = pin::constrainedABA(engine.model, *c.data, engine.q[k], engine.v[k], engine.tau[k], c.models, c.datas, settings);
    }
}

// The Popov–Vereshchagin family: anchors to the ground only.
template<bool exact, int steps>
void vereshchagin(long k)
{
    if (frames.data) anchored(frames, exact, steps, k);
    else if (points.data) anchored(points, exact, steps, k);
    else give_up();
}

long read_acceleration(long, double *into) { return write_vector(engine.x, into); }

template<class Model>
void make_anchors(Constraints<Model> &anchors)
{
    for (const Loop &loop : engine.loops) anchors.add(Model(engine.model, loop.one, loop.on_one, loop.two, loop.on_two));
    anchors.data = std::make_unique<pin::Data>(engine.model);
    pin::initPvSolver(engine.model, *anchors.data, anchors.models);
}

} // namespace

void engine_loaded()
{
    cholesky.clear();
    elimination.clear();
    frames.clear();
    points.clear();
    bool anchors = true;
    for (const Loop &loop : engine.loops) {
        const pin::RigidConstraintModel model(
            loop.whole ? pin::CONTACT_6D : pin::CONTACT_3D, engine.model, loop.one, loop.on_one, loop.two, loop.on_two, pin::LOCAL);
        cholesky.add(model);
        elimination.add(model);
        anchors = anchors && loop.two == 0 && loop.whole == engine.loops.front().whole;
    }
    cholesky.data = std::make_unique<pin::Data>(engine.model);
    pin::initConstraintDynamics(engine.model, *cholesky.data, cholesky.models, cholesky.datas);
    elimination.data = std::make_unique<pin::Data>(engine.model);
    pin::computeJointMinimalOrdering(engine.model, *elimination.data, elimination.models);
    if (!anchors) return;
    if (engine.loops.front().whole) make_anchors(frames);
    else make_anchors(points);
}

std::vector<Call> engine_calls()
{
    return {
        {"forward/constraintDynamics", constraint_dynamics<1>, read_acceleration, vector_size},
        {"forward/constraintDynamics-proximal", constraint_dynamics<20>, read_acceleration, vector_size},
        {"forward/lcaba-1e-6", lcaba<6, 20>, read_acceleration, vector_size},
        {"forward/lcaba-1e-8", lcaba<8, 20>, read_acceleration, vector_size},
        {"forward/lcaba-1e-10", lcaba<10, 20>, read_acceleration, vector_size},
        {"forward/pv", vereshchagin<true, 1>, read_acceleration, vector_size},
        {"forward/constrainedABA", vereshchagin<false, 20>, read_acceleration, vector_size},
    };
}
