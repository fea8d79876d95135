"""The ten tasks of docs/coming-from.md in catena, Pinocchio, MuJoCo, robotics-toolbox and Exudyn: run, and compared with catena.

The arm is models/two_link_arm.urdf without its damping, which not all of them read. The calls made here must appear on the page, in the row of their task, and each result
must agree with catena's, in catena's conventions. Writes docs/peers/coming-from.md, and ends with code 1 where an answer differs.
"""

import pathlib
import sys
import tempfile
import warnings

import report

report.need("catena", "pinocchio", "mujoco", "roboticstoolbox", "exudyn", "numpy")

import exudyn  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402
import roboticstoolbox as rtb  # noqa: E402
from exudyn.robotics import Robot, RobotBase, RobotLink, RobotTool  # noqa: E402

import catena  # noqa: E402
from program import Program  # noqa: E402

PAGE = report.ROOT / "docs" / "coming-from.md"
Q, V, A = np.array([0.3, 0.4]), np.array([0.1, -0.2]), np.array([0.5, 0.7])
TAU = np.array([1.0, -0.5])
SECONDS = 0.5
SHARP, LOOSE = 1e-12, 1e-8  # what a formula and what a simulation may differ by
# the calls of each engine, as they stand on the page
CALLS = {
    "Pinocchio": {
        "read a robot": "pin.buildModelFromUrdf",
        "with a free base": "pin.JointModelFreeFlyer()",
        "a state at rest": "pin.neutral(model)",
        "inverse dynamics": "pin.rnea(model, data, q, v, a)",
        "forward dynamics": "pin.aba(model, data, q, v, tau)",
        "inertia matrix": "pin.crba(model, data, q)",
        "gravity": "pin.computeGeneralizedGravity(model, data, q)",
        "pose of a frame": "pin.framesForwardKinematics",
        "Jacobian of a frame": "pin.computeFrameJacobian(model, data, q, id, pin.LOCAL_WORLD_ALIGNED)",
    },
    "MuJoCo": {
        "read a robot": "mujoco.MjModel.from_xml_path",
        "a state at rest": "model.qpos0",
        "inverse dynamics": "mujoco.mj_inverse(model, data)",
        "forward dynamics": "mujoco.mj_forward(model, data)",
        "inertia matrix": "mujoco.mj_fullM(model, data, M)",
        "gravity": "data.qfrc_bias",
        "pose of a frame": "`data.xpos`, `data.xmat`",
        "Jacobian of a frame": "mujoco.mj_jac(model, data, jacp, jacr, point, body)",
        "a simulation": "mujoco.mj_step(model, data)",
    },
    "robotics-toolbox": {
        "read a robot": "rtb.Robot.URDF",
        "a state at rest": "np.zeros(robot.n)",
        "inverse dynamics": "robot.rne(q, v, a)",
        "forward dynamics": "robot.accel(q, v, tau)",
        "inertia matrix": "robot.inertia(q)",
        "gravity": "robot.gravload(q)",
        "pose of a frame": "robot.fkine(q, end=",
        "Jacobian of a frame": "robot.jacob0(q, end=",
        "a simulation": "robot.fdyn(10, q, torque, qd0=v)",
    },
    "Exudyn": {
        "read a robot": "robot.AddLink(RobotLink(mass, COM, inertia, preHT=",
        "a state at rest": "np.zeros(robot.NumberOfLinks())",
        "inverse dynamics": "tree.ComputeMassMatrixAndForceTerms(q, v)",
        "forward dynamics": "tree.ForwardDynamicsCRB(q, v, tau)",
        "inertia matrix": "ComputeMassMatrixAndForceTerms",
        "gravity": "-robot.StaticTorques(robot.JointHT(q))",
        "pose of a frame": "robot.JointHT(q)",
        "Jacobian of a frame": "robot.Jacobian(HT, toolPosition=p)",
        "a simulation": "robot.CreateKinematicTree(mbs)",
    },
}


def without_damping():
    text = (report.ROOT / "models" / "two_link_arm.urdf").read_text()
    lines = [line for line in text.splitlines() if "<dynamics" not in line]
    file = pathlib.Path(tempfile.mkdtemp()) / "arm.urdf"
    file.write_text("\n".join(lines))
    return str(file)


def angular_first(jacobian):
    return np.vstack([jacobian[3:], jacobian[:3]])


def in_catena(urdf):
    arm = catena.load(urdf)
    run = arm.simulate(Q, V, duration=SECONDS, rtol=1e-12)
    return {
        "read a robot": arm.nv,
        "with a free base": catena.load(urdf, base="free").nv,
        "a state at rest": arm.neutral(),
        "inverse dynamics": arm.inverse(Q, V, A),
        "forward dynamics": arm.forward(Q, V, TAU),
        "inertia matrix": arm.inertia(Q),
        "gravity": arm.gravity(Q),
        "pose of a frame": arm.pose(Q, "lower"),
        "Jacobian of a frame": arm.jacobian(Q, "lower"),
        "a simulation": run.q[-1],
    }


def in_pinocchio(urdf):
    model = pin.buildModelFromUrdf(urdf)
    data = model.createData()
    frame = model.getFrameId("lower")
    upper = pin.crba(model, data, Q)
    answers = {
        "read a robot": model.nv,
        "with a free base": pin.buildModelFromUrdf(urdf, pin.JointModelFreeFlyer()).nv,
        "a state at rest": pin.neutral(model),
        "inverse dynamics": pin.rnea(model, data, Q, V, A).copy(),
        "forward dynamics": pin.aba(model, data, Q, V, TAU).copy(),
        "inertia matrix": np.triu(upper) + np.triu(upper, 1).T,
        "gravity": pin.computeGeneralizedGravity(model, data, Q).copy(),
    }
    pin.framesForwardKinematics(model, data, Q)
    answers["pose of a frame"] = data.oMf[frame].homogeneous
    answers["Jacobian of a frame"] = angular_first(pin.computeFrameJacobian(model, data, Q, frame, pin.LOCAL_WORLD_ALIGNED))
    return answers


def in_mujoco(urdf):
    model = mujoco.MjModel.from_xml_path(urdf)
    model.opt.gravity[:] = (0, 0, -9.81)
    data = mujoco.MjData(model)
    body = model.body("lower").id
    answers = {"read a robot": model.nv, "a state at rest": model.qpos0.copy()}

    def at(v, a=None, tau=None):
        data.qpos[:], data.qvel[:] = Q, v
        if a is not None:
            data.qacc[:] = a
            mujoco.mj_inverse(model, data)
            return data.qfrc_inverse.copy()
        data.qfrc_applied[:] = 0 if tau is None else tau
        mujoco.mj_forward(model, data)
        return data.qacc.copy()

    answers["inverse dynamics"] = at(V, a=A)
    answers["forward dynamics"] = at(V, tau=TAU)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    answers["inertia matrix"] = inertia
    at(np.zeros(2))
    answers["gravity"] = data.qfrc_bias.copy()
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
    answers["pose of a frame"] = pose
    jacp, jacr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, jacp, jacr, data.xpos[body], body)
    answers["Jacobian of a frame"] = np.vstack([jacr, jacp])
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = Q, V
    for _ in range(round(SECONDS / model.opt.timestep)):
        mujoco.mj_step(model, data)
    answers["a simulation"] = data.qpos.copy()
    return answers


def in_robotics_toolbox(urdf):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        robot = rtb.Robot.URDF(urdf)
        run = robot.fdyn(SECONDS, Q, lambda robot, t, q, v: np.zeros(2), qd0=V, solver_args={"rtol": 1e-9, "atol": 1e-9})
    return {
        "read a robot": robot.n,
        "a state at rest": np.zeros(robot.n),
        "inverse dynamics": robot.rne(Q, V, A),
        "forward dynamics": robot.accel(Q, V, TAU),
        "inertia matrix": robot.inertia(Q),
        "gravity": robot.gravload(Q),
        "pose of a frame": robot.fkine(Q, end="lower").A,
        "Jacobian of a frame": angular_first(robot.jacob0(Q, end="lower")),
        "a simulation": run.q[-1],
    }


def in_exudyn(_):
    # joints turn about z of their links: z of the links is y of the arm
    turned = np.eye(4)
    turned[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]
    axes = turned[:3, :3].T
    below = np.eye(4)
    below[:3, 3] = axes @ [0, 0, -0.5]

    def link(mass, centre, inertia, before):
        return RobotLink(mass, axes @ centre, axes @ np.diag(inertia) @ axes.T, preHT=before, jointType="Rz")

    robot = Robot(gravity=[0, 0, -9.81], base=RobotBase(), tool=RobotTool(), referenceConfiguration=[])
    robot.AddLink(link(2, [0, 0, -0.25], [0.042, 0.042, 0.002], turned))
    robot.AddLink(link(1, [0, 0, -0.2], [0.014, 0.014, 0.001], below))
    tree = robot.GetKinematicTree66()
    inertia, forces = tree.ComputeMassMatrixAndForceTerms(Q, V)
    joints = robot.JointHT(Q)
    jacobian = robot.Jacobian(joints, toolPosition=joints[-1][:3, 3])
    system = exudyn.SystemContainer()
    mbs = system.AddSystem()
    robot.referenceConfiguration = list(Q)
    made = robot.CreateKinematicTree(mbs)
    mbs.SetNodeParameter(made["nodeGeneric"], "initialCoordinates_t", list(V))
    mbs.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.endTime = SECONDS
    settings.timeIntegration.numberOfSteps = 5000
    settings.solution.file.write = False
    mbs.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.RK44)
    return {
        "read a robot": robot.NumberOfLinks(),
        "a state at rest": np.zeros(robot.NumberOfLinks()),
        "inverse dynamics": inertia @ A + forces,
        "forward dynamics": tree.ForwardDynamicsCRB(Q, V, TAU),
        "inertia matrix": inertia,
        "gravity": -robot.StaticTorques(joints),
        "pose of a frame": joints[-1] @ robot.GetToolHT() @ np.linalg.inv(turned),
        "Jacobian of a frame": angular_first(jacobian),
        "a simulation": np.array(mbs.GetNodeOutput(made["nodeGeneric"], exudyn.OutputVariableType.Coordinates)) + Q,
    }


def stands_on_page(task, call):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return any(line.startswith(f"| {task} |") and call in line for line in lines)


def main():
    urdf = without_damping()
    ours = in_catena(urdf)
    engines = {"Pinocchio": in_pinocchio, "MuJoCo": in_mujoco, "robotics-toolbox": in_robotics_toolbox, "Exudyn": in_exudyn}
    found = {name: engine(urdf) for name, engine in engines.items()}
    rows, wrong = [], []
    for task, wanted in ours.items():
        row = [task]
        for name, answers in found.items():
            if task not in answers:
                row.append("–")
                continue
            if not stands_on_page(task, CALLS[name][task]):
                wrong.append(f"{PAGE.name} has no `{CALLS[name][task]}` for {task}")
            apart = float(np.abs(np.asarray(answers[task]) - np.asarray(wanted)).max())
            size = max(1.0, float(np.abs(np.asarray(wanted)).max()))
            if not apart <= (LOOSE if task == "a simulation" else SHARP) * size:
                wrong.append(f"{name} differs by {apart:.1e} in {task}")
            row.append(report.rough(apart))
        rows.append(row)
    text = [
        "# The ten tasks in five engines\n",
        report.origin("peers/run.sh coming-from", Program(), "pin", "mujoco", "roboticstoolbox-python", "exudyn", "numpy") + "\n",
        "The calls of [coming from other engines](../coming-from.md) on one arm: the largest difference from catena's answer, in catena's conventions.\n",
        report.markdown(["task", *engines], rows),
        "\n– : the engine has no such call, or it is a part of the file. Simulations take 0.5 s by each engine's own integrator.\n",
    ]
    report.write("coming-from.md", "\n".join(text))
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
