"""Random conformance cases whose expected values owe nothing to catena: python3 reference.py

Only positions are modelled, in 50 digits. Velocities, accelerations and Jacobians are differences of positions; the
accelerations follow from virtual work,

    sum over bodies  J_v' (m (a - g) - F) + J_w' (I alpha + w x I w - T) = tau,

and the loads in the joints from Newton's and Euler's equations, tips first. Motions in time follow by Gragg's midpoint rule,
extrapolated. Needs mpmath. Writes the files `tree_several_roots.json`, `tree_mixed_chain.json`, `serial_forward.json`,
`space_gravity.json` and `tree_motion.json` (a few minutes) beside itself; their form is described in docs/conformance.md.
"""

import json
import random
from pathlib import Path

from mpmath import cos, eye, lu_solve, matrix, mp, mpf, sin, sqrt, zeros

mp.dps = 50
STEP = mpf(10) ** -13
RATES = {"revolute": 1, "prismatic": 1, "universal": 2, "spherical": 3, "free": 6}


# --- vectors and rotations -------------------------------------------------------------------------------------------

def vector(components):
    return matrix([mpf(x) for x in components])


def square(rows):
    return matrix([[mpf(x) for x in row] for row in rows])


def dot(a, b):
    return sum(a[i] * b[i] for i in range(3))


def cross(a, b):
    return vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def unit(a):
    return a / sqrt(dot(a, a))


def turn(rotation_vector):
    """exp of the cross-product matrix."""
    angle = sqrt(dot(rotation_vector, rotation_vector))
    if angle == 0:
        return eye(3)
    x, y, z = rotation_vector / angle
    k = matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return eye(3) + sin(angle) * k + (1 - cos(angle)) * k * k


def from_quaternion(quaternion):
    parts = [mpf(x) for x in quaternion]
    length = sqrt(sum(x * x for x in parts))
    w, x, y, z = [part / length for part in parts]
    return matrix([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])


def axial(m):
    """The vector of the antisymmetric part."""
    return vector([(m[2, 1] - m[1, 2]) / 2, (m[0, 2] - m[2, 0]) / 2, (m[1, 0] - m[0, 1]) / 2])


# --- where bodies are ------------------------------------------------------------------------------------------------
# A pose function takes (rates, rate derivatives, time) and gives the mass centres and rotations of all bodies on the motion
# that starts with them. Rates and derivatives are flat lists.

def axes_of(joint):
    axes = [unit(vector(axis)) for axis in joint.get("axes", [])]
    if len(axes) == 2:
        axes[1] = unit(axes[1] - axes[0] * dot(axes[0], axes[1]))
    return axes


def base_at(motion, time):
    if motion is None:
        return vector([0, 0, 0]), eye(3)
    place = vector(motion["r"]) + vector(motion["v"]) * time + vector(motion["a"]) * time**2 / 2
    turned = turn(vector(motion["w"]) * time + vector(motion["alpha"]) * time**2 / 2)
    return place, turned * from_quaternion(motion["quat"])


def tree_poses(model, q, motion):
    def poses(rates, derivatives, time):
        moved = [v * time + a * time**2 / 2 for v, a in zip(rates, derivatives)]
        centres, rotations = {}, {}
        for joint, coordinates in zip(model["joints"], q):
            kind, parent, child = joint["type"], joint["parent"], joint["child"]
            x = [mpf(c) for c in coordinates]
            d, moved = moved[: RATES[kind]], moved[RATES[kind]:]
            if kind == "free":
                centres[child] = vector(x[:3]) + vector(d[:3])
                rotations[child] = from_quaternion(x[3:]) * turn(vector(d[3:]))
                continue
            origin, rotation = base_at(motion, time) if parent < 0 else (centres[parent], rotations[parent])
            axes = axes_of(joint)
            at_rest = from_quaternion(joint.get("q0", [1, 0, 0, 0]))
            hinge = origin + rotation * vector(joint["lp"])
            if kind == "revolute":
                rotation = rotation * turn(axes[0] * (x[0] + d[0])) * at_rest
            elif kind == "prismatic":
                hinge += rotation * axes[0] * (x[0] + d[0])
                rotation = rotation * at_rest
            elif kind == "universal":
                rotation = rotation * turn(axes[0] * (x[0] + d[0])) * turn(axes[1] * (x[1] + d[1])) * at_rest
            else:
                rotation = rotation * at_rest * from_quaternion(x) * turn(vector(d))
            rotations[child] = rotation
            centres[child] = hinge - rotation * vector(joint["lc"])
        order = range(len(model["bodies"]))
        return [centres[i] for i in order], [rotations[i] for i in order]

    return poses


def chain_poses(model, q, state=None):
    def poses(rates, derivatives, time):
        moved = [v * time + a * time**2 / 2 for v, a in zip(rates, derivatives)]
        centres, rotations = [], []
        origin, rotation = vector([0, 0, 0]), eye(3)
        if state:
            base, moved = moved[:6], moved[6:]
            centres.append(vector(state["x0"]) + vector(base[:3]))
            rotations.append(from_quaternion(state["quat0"]) * turn(vector(base[3:])))
            origin = centres[0] + rotations[0] * vector(model["base"]["o1"])
            rotation = rotations[0] * from_quaternion(model["base"]["q1"])
        for link, coordinate, d in zip(model["links"], q, moved):
            theta, b = mpf(link["theta"]), mpf(link["b"])
            if link["type"] == "revolute":
                theta += mpf(coordinate) + d
            else:
                b += mpf(coordinate) + d
            z, x = vector([0, 0, 1]), vector([1, 0, 0])
            origin += rotation * z * b
            rotation = rotation * turn(z * theta)
            origin += rotation * x * mpf(link["a"])
            rotation = rotation * turn(x * mpf(link["alpha"]))
            centres.append(origin - rotation * vector(link["r"]))
            rotations.append(rotation)
        return centres, rotations

    return poses


# --- how bodies move, and what moves them ----------------------------------------------------------------------------

def motions(poses, rates, derivatives):
    """Per body: mass centre, rotation, velocity, angular velocity, acceleration, angular acceleration."""
    before, now, after = [poses(rates, derivatives, time) for time in (-STEP, mpf(0), STEP)]
    found = []
    for i in range(len(now[0])):
        r = now[1][i]
        found.append((
            now[0][i],
            r,
            (after[0][i] - before[0][i]) / (2 * STEP),
            axial((after[1][i] - before[1][i]) / (2 * STEP) * r.T),
            (after[0][i] - 2 * now[0][i] + before[0][i]) / STEP**2,
            axial((after[1][i] - 2 * now[1][i] + before[1][i]) / STEP**2 * r.T),
        ))
    return found


def accelerations(poses, resting_poses, bodies, gravity, rates, tau, external):
    """Derivatives of the rates, and the motions of the bodies with them. `resting_poses` has a base at rest."""
    count = len(rates)
    none = [mpf(0)] * count
    rates = [mpf(x) for x in rates]
    start = motions(poses, rates, none)
    columns = []
    for k in range(count):
        alone = [mpf(i == k) for i in range(count)]
        columns.append([(m[2], m[3]) for m in motions(resting_poses, alone, none)])
    inertia, right = zeros(count, count), matrix([mpf(x) for x in tau])
    for i, body in enumerate(bodies):
        mass = mpf(body["mass"])
        _, r, _, w, a, alpha = start[i]
        tensor = r * square(body["inertia"]) * r.T
        force = mass * (a - vector(gravity))
        torque = tensor * alpha + cross(w, tensor * w)
        if external:
            force -= vector(external[i]["force"])
            torque -= vector(external[i]["torque"])
        for row in range(count):
            v, spin = columns[row][i]
            right[row] -= dot(v, force) + dot(spin, torque)
            for column in range(count):
                other_v, other_spin = columns[column][i]
                inertia[row, column] += mass * dot(v, other_v) + dot(spin, tensor * other_spin)
    found = list(lu_solve(inertia, right))
    return found, motions(poses, rates, found)


def hinge_loads(model, moving, q, tau, external, motion):
    """Constraint force and torque of every joint, + on the parent, without the efforts."""
    forces, torques = [], []
    for i, body in enumerate(model["bodies"]):
        _, r, _, w, a, alpha = moving[i]
        tensor = r * square(body["inertia"]) * r.T
        forces.append(mpf(body["mass"]) * (a - vector(model["gravity"])))
        torques.append(tensor * alpha + cross(w, tensor * w))
        if external:
            forces[i] -= vector(external[i]["force"])
            torques[i] -= vector(external[i]["torque"])
    loads = []
    for joint, coordinates, effort in reversed(list(zip(model["joints"], q, tau))):
        kind, parent, child = joint["type"], joint["parent"], joint["child"]
        if kind == "free":
            loads.append((vector([0, 0, 0]), vector([0, 0, 0])))
            continue
        rotation = base_at(motion, 0)[1] if parent < 0 else moving[parent][1]
        hinge = moving[child][0] + moving[child][1] * vector(joint["lc"])
        force = forces[child]
        torque = torques[child] - cross(hinge - moving[child][0], force)
        if parent >= 0:
            forces[parent] += force
            torques[parent] += torque + cross(hinge - moving[parent][0], force)
        axes, e = axes_of(joint), [mpf(x) for x in effort]
        if kind == "revolute":
            torque -= rotation * axes[0] * e[0]
        elif kind == "prismatic":
            force -= rotation * axes[0] * e[0]
        elif kind == "universal":
            torque -= rotation * axes[0] * e[0]
            torque -= rotation * turn(axes[0] * mpf(coordinates[0])) * axes[1] * e[1]
        else:
            torque -= moving[child][1] * vector(e)
        loads.append((-force, -torque))
    loads.reverse()
    return loads


# --- motion in time --------------------------------------------------------------------------------------------------

def split(model, flat, sizes):
    """A flat list as one list per joint."""
    lists = []
    for joint in model["joints"]:
        own, flat = flat[: sizes[joint["type"]]], flat[sizes[joint["type"]]:]
        lists.append(own)
    return lists


def position_rates(model, q, rates):
    """Derivatives of the coordinates; of a quaternion p it is p (0, w) / 2."""
    found = []
    for coordinates, own in zip(q, rates):
        plain = len(coordinates) - 4 if len(coordinates) > len(own) else len(coordinates)
        found += own[:plain]
        if plain < len(coordinates):
            (a, b, c, d), (x, y, z) = coordinates[plain:], own[plain:]
            found += [
                (-b * x - c * y - d * z) / 2,
                (a * x + c * z - d * y) / 2,
                (a * y - b * z + d * x) / 2,
                (a * z + b * y - c * x) / 2,
            ]
    return found


def tree_derivative(model, tau, external):
    """The function y -> dy/dt of y = (coordinates, rates)."""
    sizes = RATES | {"free": 7, "spherical": 4}
    count = sum(sizes[joint["type"]] for joint in model["joints"])

    def derivative(y):
        q, flat = split(model, y[:count], sizes), y[count:]
        poses = tree_poses(model, q, None)
        found, _ = accelerations(poses, poses, model["bodies"], model["gravity"], flat, tau, external)
        return position_rates(model, q, split(model, flat, RATES)) + found

    return derivative, count, sizes


def extrapolated_step(derivative, y, size, columns):
    """Gragg's midpoint rule with 2, 4, 6, ... parts, extrapolated to none."""
    table = []
    for column in range(1, columns + 1):
        parts = 2 * column
        h = size / parts
        before, now = y, [a + h * b for a, b in zip(y, derivative(y))]
        for _ in range(parts - 1):
            before, now = now, [a + 2 * h * b for a, b in zip(before, derivative(now))]
        row = [[(a + b + h * c) / 2 for a, b, c in zip(before, now, derivative(now))]]
        for k, above in enumerate(table):
            ratio = (mpf(parts) / (2 * (column - 1 - k))) ** 2
            row.append([a + (a - b) / (ratio - 1) for a, b in zip(row[-1], above)])
        table = row
    return table[-1]


# --- random cases ----------------------------------------------------------------------------------------------------

def numbers(values):
    return [float(x) for x in values]


def some(draw, count, reach=1.0):
    return [round(draw.uniform(-reach, reach), 4) for _ in range(count)]


def some_inertia(draw):
    a = [[draw.uniform(-0.2, 0.2) for _ in range(3)] for _ in range(3)]
    product = [[sum(a[i][k] * a[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
    return [[round(product[i][j] + (0.02 if i == j else 0), 6) for j in range(3)] for i in range(3)]


def some_loads(draw, count):
    return [{"force": some(draw, 3, 3), "torque": some(draw, 3)} for _ in range(count)]


def some_links(draw, count):
    links = []
    for _ in range(count):
        kind = draw.choice(["revolute", "revolute", "prismatic"])
        links.append({
            "type": kind,
            "a": round(draw.uniform(-0.5, 0.5), 3),
            "b": round(draw.uniform(-0.3, 0.3), 3) if kind == "revolute" else 0.0,
            "alpha": draw.choice([1.5707963267948966, -1.5707963267948966, 0.0, round(draw.uniform(-2, 2), 3)]),
            "theta": round(draw.uniform(-1, 1), 3) if kind == "prismatic" else 0.0,
            "mass": round(draw.uniform(0.3, 3), 3),
            "r": some(draw, 3, 0.3),
            "inertia": some_inertia(draw),
        })
    return links


def write(case):
    case.setdefault("accuracy", {"abs": 1e-15, "how": "virtual work with 50-digit differences of positions"})
    path = Path(__file__).with_name(case["id"] + ".json")
    path.write_text(json.dumps(case, indent=1) + "\n")


def tree_case(name, title, seed, count, several_roots):
    draw = random.Random(seed)
    bodies = [{"mass": round(draw.uniform(0.5, 2), 3), "inertia": some_inertia(draw)} for _ in range(count)]
    order = list(range(count))
    motion = None
    if several_roots:
        draw.shuffle(order)
        motion = {key: some(draw, 4 if key == "quat" else 3) for key in ["r", "v", "a", "quat", "w", "alpha"]}
    joints, q, qd, tau = [], [], [], []
    for j, child in enumerate(order):
        root = j == 0 or (several_roots and draw.random() < 0.3)
        parent = -1 if root else order[draw.randrange(j)] if several_roots else order[j - 1]
        kind = draw.choice(["revolute", "prismatic", "universal", "spherical"])
        if root and several_roots and draw.random() < 0.5:
            kind = "free"
        joint = {"type": kind, "parent": parent, "child": child}
        if kind != "free":
            joint |= {"lp": some(draw, 3, 0.6), "lc": some(draw, 3, 0.6)}
            if draw.random() < 0.7:
                joint["q0"] = some(draw, 4)
            if kind != "spherical":
                joint["axes"] = [some(draw, 3) for _ in range(RATES[kind])]
        joints.append(joint)
        q.append(some(draw, {"free": 7, "spherical": 4}.get(kind, RATES[kind])))
        qd.append(some(draw, RATES[kind], 1.5))
        tau.append(some(draw, RATES[kind], 3))
    model = {"kind": "multibody", "gravity": some(draw, 3, 10), "bodies": bodies, "joints": joints}
    external = some_loads(draw, count)
    resting = motion and {"r": motion["r"], "quat": motion["quat"]} | {key: [0, 0, 0] for key in ["v", "a", "w", "alpha"]}
    flat = [x for rates in qd for x in rates]
    efforts = [x for own in tau for x in own]
    poses, resting_poses = tree_poses(model, q, motion), tree_poses(model, q, resting)
    found, moving = accelerations(poses, resting_poses, bodies, model["gravity"], flat, efforts, external)
    loads = hinge_loads(model, moving, q, tau, external, motion)
    joint_accelerations = []
    for joint in joints:
        own, found = found[: RATES[joint["type"]]], found[RATES[joint["type"]]:]
        joint_accelerations.append(numbers(own))
    case = {
        "format": "catena-case/1",
        "id": name,
        "kind": "multibody_accel",
        "title": title,
        "model": model,
        "q": q,
        "qd": qd,
        "tau": tau,
        "external": external,
        "state": {
            "r": [numbers(m[0]) for m in moving],
            "R": [[numbers(m[1][i, :]) for i in range(3)] for m in moving],
            "w": [numbers(m[3]) for m in moving],
            "v": [numbers(m[2]) for m in moving],
        },
        "expected": {
            "joint_acc": joint_accelerations,
            "body_lin_acc": [numbers(m[4]) for m in moving],
            "body_ang_acc": [numbers(m[5]) for m in moving],
            "hinge_force": [numbers(force) for force, _ in loads],
            "hinge_torque": [numbers(torque) for _, torque in loads],
        },
    }
    if motion:
        case["base_motion"] = motion
    write(case)


def serial_forward_case(name, title, seed):
    draw = random.Random(seed)
    samples = []
    for count in (1, 2, 4, 6, 9):
        model = {"kind": "dh_chain", "gravity": some(draw, 3, 10), "links": some_links(draw, count)}
        q, qd, tau = some(draw, count, 2), some(draw, count, 2), some(draw, count, 5)
        poses = chain_poses(model, q)
        found, _ = accelerations(poses, poses, model["links"], model["gravity"], qd, tau, None)
        samples.append({"model": model, "q": q, "qd": qd, "tau": tau, "expected": {"qdd": numbers(found)}})
    write({"format": "catena-case/1", "id": name, "kind": "serial_forward", "title": title, "samples": samples})


def space_case(name, title, seed, count):
    draw = random.Random(seed)
    base = {
        "mass": 50.0,
        "inertia": [[12.0, 0.3, 0.2], [0.3, 9.0, 0.1], [0.2, 0.1, 11.0]],
        "o1": some(draw, 3),
        "q1": some(draw, 4),
    }
    model = {"kind": "space_robot", "gravity": some(draw, 3, 10), "base": base, "links": some_links(draw, count)}
    state = {key: some(draw, 4 if key == "quat0" else 3) for key in ["x0", "quat0", "v0", "w0_body"]}
    state |= {"q": some(draw, count, 2), "qd": some(draw, count, 2)}
    tau, point = some(draw, count, 5), some(draw, 3)
    bodies = [base] + model["links"]
    poses = chain_poses(model, state["q"], state)
    rates = state["v0"] + state["w0_body"] + state["qd"]
    samples = []
    for external in (None, some_loads(draw, count + 1)):
        found, moving = accelerations(poses, poses, bodies, model["gravity"], rates, [0] * 6 + tau, external)
        centre, r, v, w, a, alpha = moving[0]
        arm = r * vector(point)
        kinetic, linear, angular = mpf(0), vector([0, 0, 0]), vector([0, 0, 0])
        for body, (place, turned, velocity, spin, _, _) in zip(bodies, moving):
            own = turned * square(body["inertia"]) * turned.T * spin
            momentum = velocity * mpf(body["mass"])
            kinetic += (dot(momentum, velocity) + dot(own, spin)) / 2
            linear += momentum
            angular += cross(place, momentum) + own
        samples.append({
            "external": external,
            "expected": {
                "w0": numbers(w),
                "v0": numbers(v),
                "t_e": numbers(w) + numbers(v + cross(w, arm)),
                "te_dot": numbers(alpha) + numbers(a + cross(alpha, arm) + cross(w, cross(w, arm))),
                "base_ang_acc": numbers(alpha),
                "base_lin_acc": numbers(a),
                "theta_dd": numbers(found[6:]),
                "kinetic": float(kinetic),
                "linear_momentum": numbers(linear),
                "angular_momentum_about_origin": numbers(angular),
                "body_lin_acc": [numbers(m[4]) for m in moving],
                "body_ang_acc": [numbers(m[5]) for m in moving],
            },
        })
    write({
        "format": "catena-case/1",
        "id": name,
        "kind": "space_accel",
        "title": title,
        "model": model,
        "state": state,
        "tau": tau,
        "xe": point,
        "samples": samples,
    })


def motion_case(name, title, seed, kinds, times):
    """A floating tree driven by constant efforts and loads."""
    mp.dps = 40
    draw = random.Random(seed)
    bodies = [{"mass": round(draw.uniform(0.5, 2), 3), "inertia": some_inertia(draw)} for _ in kinds]
    joints = [{"type": kinds[0], "parent": -1, "child": 0}]
    for child, kind in list(enumerate(kinds))[1:]:
        joint = {"type": kind, "parent": draw.randrange(child), "child": child}
        joint |= {"lp": some(draw, 3, 0.6), "lc": some(draw, 3, 0.6), "q0": some(draw, 4)}
        if kind != "spherical":
            joint["axes"] = [some(draw, 3) for _ in range(RATES[kind])]
        joints.append(joint)
    model = {"kind": "multibody", "gravity": some(draw, 3, 10), "bodies": bodies, "joints": joints}
    q0 = [some(draw, {"free": 7, "spherical": 4}.get(kind, RATES[kind])) for kind in kinds]
    qd0 = [some(draw, RATES[kind], 1.5) for kind in kinds]
    tau = [some(draw, RATES[kind], 3) for kind in kinds]
    external = some_loads(draw, len(kinds))
    efforts = [mpf(x) for own in tau for x in own]
    derivative, count, sizes = tree_derivative(model, efforts, external)
    y = []
    for coordinates, kind in zip(q0, kinds):
        own = [mpf(x) for x in coordinates]
        if kind in ("free", "spherical"):
            length = sqrt(sum(x * x for x in own[-4:]))
            own[-4:] = [x / length for x in own[-4:]]
        y += own
    y += [mpf(x) for own in qd0 for x in own]
    runs = {5: [y], 6: [y]}
    for steps, states in runs.items():
        for before, after in zip(times, times[1:]):
            y = states[-1]
            size = (mpf(after) - mpf(before)) / steps
            for _ in range(steps):
                y = extrapolated_step(derivative, y, size, 7)
            states.append(y)
    samples = []
    for time, y in zip(times, runs[6]):
        q, flat = split(model, y[:count], sizes), y[count:]
        poses = tree_poses(model, q, None)
        found, moving = accelerations(poses, poses, bodies, model["gravity"], flat, efforts, external)
        loads = hinge_loads(model, moving, q, tau, external, None)
        kinetic, potential = mpf(0), mpf(0)
        for body, (place, turned, velocity, spin, _, _) in zip(bodies, moving):
            own = turned * square(body["inertia"]) * turned.T * spin
            kinetic += (mpf(body["mass"]) * dot(velocity, velocity) + dot(own, spin)) / 2
            potential -= mpf(body["mass"]) * dot(vector(model["gravity"]), place)
        samples.append({
            "t": time,
            "q": [numbers(own) for own in q],
            "qd": [numbers(own) for own in split(model, flat, RATES)],
            "r": [numbers(m[0]) for m in moving],
            "R": [[numbers(m[1][i, :]) for i in range(3)] for m in moving],
            "v": [numbers(m[2]) for m in moving],
            "w": [numbers(m[3]) for m in moving],
            "kinetic": float(kinetic),
            "potential": float(potential),
            "joint_acc": [numbers(own) for own in split(model, found, RATES)],
            "hinge_force": [numbers(force) for force, _ in loads],
            "hinge_torque": [numbers(torque) for _, torque in loads],
        })
    worst = max(abs(a - b) for a, b in zip(runs[5][-1], runs[6][-1]))
    how = "extrapolation of order 14 on virtual work with 40-digit differences of positions; difference of two step sizes"
    write({
        "format": "catena-case/1",
        "id": name,
        "kind": "multibody_sim",
        "title": title,
        "model": model,
        "q0": q0,
        "qd0": qd0,
        "tau": tau,
        "external": external,
        "samples": samples,
        "accuracy": {"abs": float(worst), "how": how},
    })


if __name__ == "__main__":
    tree_case("tree_several_roots", "trees on a moving base, some of them floating, bodies in any order", 58, 7, True)
    tree_case("tree_mixed_chain", "chain of revolute, prismatic, universal and spherical joints", 5, 8, False)
    serial_forward_case("serial_forward", "random chains of 1 to 9 links", 11)
    space_case("space_gravity", "arm with revolute and prismatic joints on a free base, in a gravity field", 14, 5)
    motion_case(
        "tree_motion",
        "floating tree with universal, sliding and ball joints under constant efforts and loads",
        21,
        ["free", "universal", "prismatic", "spherical"],
        [0.0, 0.1, 0.3],
    )
