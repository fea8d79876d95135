// The Pinocchio engine: reads trees and states, and serves orders (see engine.h).
#include "pinocchio.hpp"
#include <fstream>
#include <sstream>
#include <string>

Engine engine;

long vector_size() { return engine.model.nv; }
long matrix_size() { return (long)engine.model.nv * engine.model.nv; }

long write_vector(const Eigen::VectorXd &vector, double *into)
{
    std::copy(vector.data(), vector.data() + vector.size(), into);
    return vector.size();
}

long write_matrix(const Eigen::MatrixXd &matrix, double *into)
{
    for (long i = 0; i < matrix.rows(); i++)
        for (long j = 0; j < matrix.cols(); j++) *into++ = matrix(i, j);
    return matrix.size();
}

long write_upper(const Eigen::MatrixXd &matrix, double *into)
{
    for (long i = 0; i < matrix.rows(); i++)
        for (long j = 0; j < matrix.cols(); j++) *into++ = i <= j ? matrix(i, j) : matrix(j, i);
    return matrix.size();
}

namespace {

// The joint that is fastest for this axis.
bool joint_of(const std::string &kind, const Eigen::Vector3d &axis, pin::JointModel &joint)
{
    const bool x = axis == Eigen::Vector3d::UnitX(), y = axis == Eigen::Vector3d::UnitY(), z = axis == Eigen::Vector3d::UnitZ();
    if (kind == "free") joint = pin::JointModelFreeFlyer();
    else if (kind == "spherical") joint = pin::JointModelSpherical();
    else if (kind == "universal" && x) joint = pin::JointModelUniversal(axis, Eigen::Vector3d(0, 1, 0));
    else if (kind == "revolute" && x) joint = pin::JointModelRX();
    else if (kind == "revolute" && y) joint = pin::JointModelRY();
    else if (kind == "revolute" && z) joint = pin::JointModelRZ();
    else if (kind == "revolute") joint = pin::JointModelRevoluteUnaligned(axis);
    else if (kind == "prismatic" && x) joint = pin::JointModelPX();
    else if (kind == "prismatic" && y) joint = pin::JointModelPY();
    else if (kind == "prismatic" && z) joint = pin::JointModelPZ();
    else if (kind == "prismatic") joint = pin::JointModelPrismaticUnaligned(axis);
    else return false;
    return true;
}

// One line of a tree file: see peers/speed_models.py.
bool add_body(const std::string &line, pin::Model &model)
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

pin::SE3 read_pose(std::istringstream &words)
{
    Eigen::Matrix3d rotation;
    Eigen::Vector3d place;
    for (int i = 0; i < 9; i++) words >> rotation(i / 3, i % 3);
    for (int i = 0; i < 3; i++) words >> place[i];
    return pin::SE3(rotation, place);
}

// A line that begins with `loop`.
bool add_loop(const std::string &line, std::vector<Loop> &loops)
{
    std::istringstream words(line);
    std::string word, kind;
    Loop loop{};
    words >> word >> kind >> loop.one;
    loop.on_one = read_pose(words);
    words >> loop.two;
    loop.on_two = read_pose(words);
    loop.whole = kind == "frame";
    loops.push_back(loop);
    return words && (kind == "frame" || kind == "point");
}

// A line that begins with `gravity`.
bool set_gravity(const std::string &line, pin::Model &model)
{
    std::istringstream words(line);
    std::string word;
    Eigen::Vector3d gravity;
    words >> word >> gravity[0] >> gravity[1] >> gravity[2];
    model.gravity.linear() = gravity;
    return (bool)words;
}

bool add_line(const std::string &line)
{
    if (line.empty() || line[0] == '#') return true;
    if (line.rfind("loop ", 0) == 0) return add_loop(line, engine.loops);
    if (line.rfind("gravity ", 0) == 0) return set_gravity(line, engine.model);
    return add_body(line, engine.model);
}

std::vector<Eigen::VectorXd> vectors(const double *numbers, long count, long size)
{
    std::vector<Eigen::VectorXd> all;
    for (long k = 0; k < count; k++) all.push_back(Eigen::Map<const Eigen::VectorXd>(numbers + k * size, size));
    return all;
}

const char *load(const char *tree, const char *path)
{
    std::ifstream file(tree);
    if (!file) return "the tree cannot be opened";
    engine.data.reset();
    engine.model = pin::Model();
    engine.loops.clear();
    std::string line;
    while (std::getline(file, line))
        if (!add_line(line)) return "a line of the tree is wrong";
    States &states = engine.states;
    if (const char *problem = read_states(path, &states)) return problem;
    if (states.nq != engine.model.nq || states.nv != engine.model.nv) return "tree and states do not fit";
    engine.data = std::make_unique<pin::Data>(engine.model);
    engine.q = vectors(states.q, states.count, states.nq);
    engine.v = vectors(states.v, states.count, states.nv);
    engine.vdot = vectors(states.vdot, states.count, states.nv);
    engine.tau = vectors(states.tau, states.count, states.nv);
    engine.x.resize(states.nv);
    engine_loaded();
    return nullptr;
}

} // namespace

int main()
{
    const std::vector<Call> calls = engine_calls();
    const Program program{load, &engine.states, calls.data(), (int)calls.size()};
    return serve(&program);
}
