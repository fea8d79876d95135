"""MuJoCo's steps of a model with everything but its motion switched off, and such steps by `mjbatch`.

`mjbatch` needs a MuJoCo of its own version, so that it runs in an environment of its own: `python mujoco_steps.py FILE.npz` reads a model and states,
steps them on one core, and adds the states at the end and the processor seconds of the best turn.
"""

import sys
import time

import mujoco
import numpy as np

# what MuJoCo would compute in addition to the motion of free bodies
UNUSED = ("CONTACT", "LIMIT", "EQUALITY", "FRICTIONLOSS", "CONSTRAINT", "ACTUATION", "SENSOR", "CLAMPCTRL", "WARMSTART")


def free_model(text, integrator, step):
    """The model of an MJCF text without contacts, limits and the like."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    model.opt.timestep = step
    for part in UNUSED:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{part}", 0)
    return model


def main(path):
    import mjbatch

    given = np.load(path)
    q, v, steps = given["q"], given["v"], int(given["steps"])
    model = free_model(str(given["model"]), str(given["integrator"]), float(given["step"]))
    batch = mjbatch.Batch(model, len(q), num_threads=1)
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")
    best = float("inf")
    for _ in range(int(given["turns"])):
        batch.reset()
        qpos[:], qvel[:] = q, v
        began = time.process_time()
        batch.step(nstep=steps)
        best = min(best, time.process_time() - began)
    np.savez(path, q=qpos, v=qvel, seconds=best, version=mjbatch_version())


def mjbatch_version():
    import importlib.metadata

    return f"mjbatch {importlib.metadata.version('mjbatch')} on mujoco {mujoco.__version__}"


if __name__ == "__main__":
    main(sys.argv[1])
