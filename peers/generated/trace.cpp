// Traces Pinocchio's algorithms in CasADi expressions and writes them as C.
//
//   trace TREE     -> {inverse,forward_local,forward_world,inertia_local,inertia_local_upper,
//                     inertia_world,inertia_world_upper}.c in the working folder
#include <casadi/casadi.hpp>
#include <pinocchio/autodiff/casadi.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

namespace pin = pinocchio;
using casadi::SX;
using Model = pin::ModelTpl<SX>;
using Data = pin::DataTpl<SX>;
using Vector = Model::VectorXs;

// The joint that is cheapest for this axis.
static bool joint_of(const std::string &kind, const Eigen::Vector3d &axis, pin::JointModel &joint)
{
    const bool x = axis == Eigen::Vector3d::UnitX(), y = axis == Eigen::Vector3d::UnitY(), z = axis == Eigen::Vector3d::UnitZ();
    if (kind == "free") joint = pin::JointModelFreeFlyer();
    else if (kind == "revolute" && x) joint = pin::JointModelRX();
    else if (kind == "revolute" && y) joint = pin::JointModelRY();
    else if (kind == "revolute" && z) joint = pin::JointModelRZ();
    else if (kind == "revolute") joint = pin::JointModelRevoluteUnaligned(axis);
    else if (kind == "prismatic" && x) joint = pin::JointModelPX();
    else if (kind == "prismatic" && y) joint = pin::JointModelPY();
    else if (kind == "prismatic" && z) joint = pin::JointModelPZ();
    else return false;
    return true;
}

// One line of a tree file: see peers/speed_models.py.
static bool add_body(const std::string &line, pin::Model &model)
{
    std::istringstream words(line);
    std::string name, kind;
    pin::JointIndex parent = 0;
    Eigen::Matrix3d rotation, tensor;
    Eigen::Vector3d place, axis, centre;
    double mass = 0, xx, yy, zz, xy, xz, yz;
    words >> name >> kind >> parent;
    for (int i = 0; i < 9; i++) words >> rotation(i / 3, i % 3);
    for (int i = 0; i < 3; i++) words >> place[i];
    for (int i = 0; i < 3; i++) words >> axis[i];
    words >> mass;
    for (int i = 0; i < 3; i++) words >> centre[i];
    words >> xx >> yy >> zz >> xy >> xz >> yz;
    pin::JointModel joint;
    if (!words || !joint_of(kind, axis, joint)) return false;
    tensor << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    const pin::JointIndex added = model.addJoint(parent, joint, pin::SE3(rotation, place), name);
    model.appendBodyToJoint(added, pin::Inertia(mass, centre, tensor), pin::SE3::Identity());
    return true;
}

static Vector symbols(const SX &sx)
{
    Vector vector(sx.size1());
    for (casadi_int k = 0; k < sx.size1(); k++) vector[k] = sx(k);
    return vector;
}

template <typename Matrix> static SX collected(const Matrix &matrix)
{
    SX all(matrix.rows(), matrix.cols());
    for (long i = 0; i < matrix.rows(); i++)
        for (long j = 0; j < matrix.cols(); j++) all(i, j) = matrix(i, j);
    return casadi::SX::densify(all);
}

static void generate(const std::string &name, const std::vector<SX> &in, const SX &out)
{
    const casadi::Function function(name, in, {out});
    function.generate(name + ".c", casadi::Dict{{"verbose", false}});
}

int main(int count, char **arguments)
{
    if (count != 2) {
        std::cerr << "usage: trace TREE\n";
        return 2;
    }
    pin::Model numbers;
    numbers.gravity.linear() = Eigen::Vector3d(0, 0, -9.81);
    std::ifstream file(arguments[1]);
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#') continue;
        if (!add_body(line, numbers)) {
            std::cerr << "error: cannot read: " << line << "\n";
            return 2;
        }
    }
    const Model model = numbers.cast<SX>();
    const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), x = SX::sym("x", model.nv);
    const Vector eq = symbols(q), ev = symbols(v), ex = symbols(x);
    {
        Data data(model);
        pin::rnea(model, data, eq, ev, ex);
        generate("inverse", {q, v, x}, collected(data.tau));
    }
    const std::pair<const char *, pin::Convention> conventions[] = {{"local", pin::Convention::LOCAL}, {"world", pin::Convention::WORLD}};
    for (const auto &[name, convention] : conventions) {
        Data data(model);
        pin::aba(model, data, eq, ev, ex, convention);
        generate(std::string("forward_") + name, {q, v, x}, collected(data.ddq));
    }
    for (const auto &[name, convention] : conventions) {
        Data data(model);
        pin::crba(model, data, eq, convention);
        // as crba leaves it: the upper triangle alone, without the zeros
        generate(std::string("inertia_") + name + "_upper", {q}, SX::sparsify(SX::triu(collected(data.M))));
        for (long i = 0; i < model.nv; i++)
            for (long j = 0; j < i; j++) data.M(i, j) = data.M(j, i);
        generate(std::string("inertia_") + name, {q}, collected(data.M));
    }
}
