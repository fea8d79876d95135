"""Force elements and sensors of models, and what a run records."""

import numpy as np
import pytest

import catena


@pytest.fixture(scope="module")
def swing():
    model = catena.Model("swing").add_link("rod", mass=2.0, centre=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    model.add_joint("pivot", "revolute", child="rod", axis=[0, 1, 0])
    model.add_frame("tip", "rod", origin=[0, 0, -1])
    model.add_force(
        "coil", "spring", parent="world", child="rod", parent_point=[1, 0, -1], child_point=[0, 0, -1],
        stiffness=30.0, rest_length=0.4,
    )
    model.add_sensor("imu", "imu", frame="tip")
    return model


def test_a_spring_acts(swing):
    bare = catena.Model("bare").add_link("rod", mass=2.0, centre=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    bare.add_joint("pivot", "revolute", child="rod", axis=[0, 1, 0])
    for angle in (-0.3, 0.2, 1.0):
        tip = np.array([-np.sin(angle), 0, -np.cos(angle)])
        pull = np.array([1, 0, -1]) - tip
        length = np.linalg.norm(pull)
        force = 30.0 * (length - 0.4) * pull / length
        moment = np.cross(tip, force)[1]
        assert np.isclose(bare.gravity([angle])[0] - swing.gravity([angle])[0], moment)
    # one state and many
    q = np.linspace(-1, 1, 9)[:, None]
    many = swing.forward(q, 0 * q, 0 * q)
    assert np.allclose(many, [swing.forward(x, [0.0], [0.0]) for x in q])


def test_it_survives_a_file(swing):
    again = catena.loads(swing.to_toml(), format="toml") if hasattr(catena, "loads") else None
    if again is not None:
        assert np.allclose(again.gravity([0.4]), swing.gravity([0.4]))
    assert '"coil"' in swing.to_json() and "[[sensor]]" in swing.to_toml()


def test_a_run_records(swing, tmp_path):
    run = swing.simulate([0.3], duration=1.0, rtol=1e-10, record=["forces", "sensor.imu.*", "frame.tip.x"])
    assert run.audit.kept
    assert run.audit.forces[0]["force"] == "coil"
    columns = run.to_dict()
    stretch = columns["force.coil.length"] - 0.4
    assert np.allclose(columns["force.coil.tension"], 30.0 * stretch)
    assert np.allclose(columns["force.coil.energy"], columns["elastic"])
    assert np.allclose(columns["sensor.imu.wy"], run.v[:, 0])
    assert run.units["force.coil.tension"] == "N"
    run.save(tmp_path / "run.csv")
    assert "force.coil.tension" in (tmp_path / "run.csv").read_text(encoding="utf-8")
    with pytest.raises(catena.InputError, match="record: no column is called `force.coli.length`"):
        swing.simulate([0.3], duration=0.1, record="force.coli.length")


def test_a_run_records_all_loads():
    columns = catena.model("planar3").simulate([0.1, 0.2, 0.3], duration=0.1, loads=True).to_dict()
    assert "joint.joint3.fx" in columns
    bars = catena.model("four-bar-1")
    columns = bars.simulate([-1.0, 1.0, -1.0], duration=0.1, record="centre.*", loads=True).to_dict()
    carried = columns["joint.foot0.fy"] + columns["joint.foot1.fy"]
    assert np.allclose(carried, 3.0 * (columns["centre.ay"] + 9.81))
    assert np.isfinite(columns["constraint.loop0.fx"]).all()


def test_a_control_sees_sensors(swing):
    seen = []

    def brake(t, q, v, sensors):
        seen.append([t, sensors["imu"]["wy"], sensors["imu"]["sx"]])
        return [0.2]

    run = swing.simulate([0.3], duration=0.5, control=catena.with_sensors(brake), rate=100, interval=0.01, record="sensors")
    columns = run.to_dict()
    times, turning, felt = np.array(seen).T
    assert np.allclose(times[: len(run.t)], run.t[: len(times)])
    # the effort is the same from the second instant on, so what is recorded there is what was seen
    count = min(len(times), len(run.t))
    assert np.allclose(turning[1:count], columns["sensor.imu.wy"][1:count], rtol=0, atol=1e-12)
    assert np.allclose(felt[1:count], columns["sensor.imu.sx"][1:count], rtol=0, atol=1e-10)
    assert abs(felt[0] - columns["sensor.imu.sx"][0]) > 1e-6
    with pytest.raises(catena.InputError, match="a continuous controller cannot use sensors"):
        swing.simulate([0.3], duration=0.1, control=catena.with_sensors(brake))


def test_what_knows_no_forces_refuses(swing):
    assert any("force elements" in text for text in swing.generate().values())
    with pytest.raises(catena.Error, match="a type of force"):
        catena.Model("wrong").add_link("rod", mass=1.0).add_joint("pivot", "revolute", child="rod").add_force("x", "sprig").build()
