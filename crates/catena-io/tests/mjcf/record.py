#!/usr/bin/env python3
"""Writes mujoco.txt: what MuJoCo 4.0 says about the files beside it and models/two_legs.xml, at random states, without contacts, limits and equalities.

Needs `pip install mujoco`. A line for each quantity: file, quantity, numbers."""

import pathlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
OFF = mujoco.mjtDisableBit


def recorded(path, rng):
    model = mujoco.MjModel.from_xml_path(str(path))
    if model.opt.disableflags & int(OFF.mjDSBL_FRICTIONLOSS):
        model.dof_frictionloss[:] = 0
    model.opt.disableflags |= int(OFF.mjDSBL_CONSTRAINT) | int(OFF.mjDSBL_ACTUATION)
    data = mujoco.MjData(model)
    for _ in range(2):
        q = model.qpos0.copy()
        mujoco.mj_integratePos(model, q, rng.uniform(-1, 1, model.nv), 1.0)
        v, tau = rng.uniform(-1, 1, (2, model.nv))
        friction = model.dof_frictionloss * np.sign(v)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau - friction
        mujoco.mj_forward(model, data)
        bias = data.qfrc_bias - data.qfrc_passive + friction
        for name, numbers in [("q", q), ("v", v), ("tau", tau), ("bias", bias), ("acceleration", data.qacc)]:
            yield " ".join([path.stem, name, *(f"{x:.15g}" for x in numbers)])


def main():
    rng = np.random.default_rng(1)
    files = ["classes", "compiler", "copies", "joints", "meshes", "shapes", "springdamper"]
    paths = [HERE / f"{name}.xml" for name in files] + [HERE.parents[3] / "models/two_legs.xml"]
    lines = [line for path in paths for line in recorded(path, rng)]
    (HERE / "mujoco.txt").write_text("\n".join(lines) + "\n")


main()
