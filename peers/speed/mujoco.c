/* The MuJoCo engine: serves orders (see engine.h). Smooth dynamics only, by the shortest route through its pipeline: no contacts,
 * constraints, actuators or sensors. The tree it loads is a compiled model (.mjb) that peers/speed_models.py wrote. */
#include "engine.h"
#include <mujoco/mujoco.h>

static mjModel *model;
static mjData *data;
static States states;
static mjtNum *work;

static const char *load(const char *tree, const char *path)
{
    if (data) mj_deleteData(data);
    if (model) mj_deleteModel(model);
    free(work);
    data = NULL, work = NULL;
    model = mj_loadModel(tree, NULL);
    if (!model) return "the model cannot be read";
    data = mj_makeData(model);
    const char *problem = read_states(path, &states);
    if (problem) return problem;
    if (states.nq != model->nq || states.nv != model->nv) return "model and states do not fit";
    work = (mjtNum *)malloc((size_t)states.nv * sizeof(mjtNum));
    return data && work ? NULL : "not enough memory";
}

static void set_positions(long k)
{
    memcpy(data->qpos, states.q + k * states.nq, (size_t)states.nq * sizeof(mjtNum));
    mj_kinematics(model, data);
    mj_comPos(model, data);
}

static void set_velocities(long k)
{
    memcpy(data->qvel, states.v + k * states.nv, (size_t)states.nv * sizeof(mjtNum));
    mj_comVel(model, data);
}

static void inverse(long k)
{
    set_positions(k);
    set_velocities(k);
    memcpy(data->qacc, states.vdot + k * states.nv, (size_t)states.nv * sizeof(mjtNum));
    mj_rne(model, data, 1, work);
}

static void inertia(long k)
{
    set_positions(k);
    mj_makeM(model, data);
}

static void factorization(long k)
{
    inertia(k);
    mj_factorM(model, data);
}

static void forward(long k)
{
    factorization(k);
    set_velocities(k);
    mj_rne(model, data, 0, data->qfrc_bias);
    const double *tau = states.tau + k * states.nv;
    for (long i = 0; i < states.nv; i++) work[i] = tau[i] - data->qfrc_bias[i];
    mj_solveM(model, data, data->qacc, work, 1);
}

static long vector_size(void) { return states.nv; }
static long matrix_size(void) { return states.nv * states.nv; }

static long copy(const mjtNum *from, double *into)
{
    memcpy(into, from, (size_t)states.nv * sizeof(double));
    return states.nv;
}

static long read_work(long k, double *into) { return (void)k, copy(work, into); }
static long read_acceleration(long k, double *into) { return (void)k, copy(data->qacc, into); }

static long read_inertia(long k, double *into)
{
    (void)k;
    mj_fullM(model, data, into);
    return matrix_size();
}

/* What the factors solve: M x = tau. */
static long read_factors(long k, double *into)
{
    mj_solveM(model, data, into, states.tau + k * states.nv, 1);
    return states.nv;
}

int main(void)
{
    static const Call calls[] = {
        {"inverse/rne", inverse, read_work, vector_size},
        {"forward/crb-ldl", forward, read_acceleration, vector_size},
        {"inertia/crb", inertia, read_inertia, matrix_size},
        {"factorization/crb-ldl", factorization, read_factors, vector_size},
    };
    const Program program = {load, &states, calls, sizeof calls / sizeof *calls};
    return serve(&program);
}
