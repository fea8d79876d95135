"""Studies: samples by index, in any process, and the same file as the program's."""

import pickle

import numpy as np
import pytest

import catena

STUDY = """
format = "catena-study/1"
model = "planar3"
[design]
kind = "sobol"
samples = 16
seed = 1
[[parameter]]
name = "tip"
path = "link.link3.mass"
uniform = [0.5, 2]
[[parameter]]
name = "angle"
path = "q.joint1"
uniform = ["-90deg", "90deg"]
[run]
duration = 0.2
interval = 0.1
[[measure]]
name = "speed"
unit = "rad/s"
value = "last(v.joint1)"
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return catena.Study(path)


def test_samples_do_not_depend_on_how_they_are_computed(study):
    whole = study.run()
    assert len(study) == 16 and whole.failures == [None] * 16
    part = pickle.loads(pickle.dumps(study)).run([9, 3], threads=1)
    assert part.sample.tolist() == [9, 3]
    assert part.measures["speed"].tolist() == whole.measures["speed"][[9, 3]].tolist()
    assert part.values["tip"].tolist() == study.values([9, 3])["tip"].tolist()


def test_a_sample_is_a_run_of_simulate(tmp_path):
    path = tmp_path / "angles.toml"
    mass = STUDY[STUDY.index("[[parameter]]") : STUDY.rindex("[[parameter]]")]
    path.write_text(STUDY.replace(mass, ""))
    results = catena.Study(path).run([5])
    q = [results.values["angle"][0], 0, 0]
    run = catena.model("planar3").simulate(q, duration=0.2, interval=0.1)
    # in lanes, where step sizes follow errors that are round-off at first: within the tolerance
    assert run.v[-1, 0] == pytest.approx(results.measures["speed"][0], rel=1e-9)


def test_results_are_written_once(study, tmp_path):
    output = tmp_path / "results.csv"
    results = catena.sweep(tmp_path / "study.toml", output)
    lines = output.read_text().splitlines()
    assert lines[0] == "sample,tip,angle,speed,failure"
    assert [float(line.split(",")[3]) for line in lines[1:]] == results.measures["speed"].tolist()
    with pytest.raises(catena.ModelError, match="the results already exist"):
        study.sweep(output)


def swing(sample):
    """The widest angle of the first joint, per kilogram at the tip."""
    if sample.values["tip"] > 1.9:
        raise ValueError("too heavy")
    return abs(sample.columns["q.joint1"]).max() / sample.values["tip"]


def test_measures_in_python(study, tmp_path):
    path = tmp_path / "study.toml"
    own = catena.Study(path, measures={"swing": swing, "load": lambda sample: sample.columns["joint.joint1.fx"][-1]}, record=["joint.joint1.fx"])
    assert list(own.measures) == ["speed", "swing", "load"]
    found = pickle.loads(pickle.dumps(catena.Study(path, {"swing": swing}))).run(threads=2)
    whole = study.run()
    failed = whole.values["tip"] > 1.9
    assert failed.any() and not failed.all()
    assert [failure is not None for failure in found.failures] == failed.tolist()
    assert {failure for failure in found.failures if failure} == {"measure `swing`: ValueError: too heavy"}
    assert found.measures["speed"][~failed].tolist() == whole.measures["speed"][~failed].tolist()
    assert (found.measures["swing"][~failed] >= abs(whole.values["angle"] / whole.values["tip"])[~failed] * (1 - 1e-12)).all()
    assert (own.run([0]).measures["load"] != 0).all()

    # the file has them as columns, and a study is not resumed with other functions
    output = tmp_path / "own.csv"
    catena.Study(path, {"swing": lambda sample: 0.0})._data.begin(str(output), "new")
    with pytest.raises(catena.InputError, match="begun with another measure swing"):
        catena.Study(path, {"swing": swing}).sweep(output, resume=True)
    catena.Study(path, {"swing": swing}).sweep(output, overwrite=True)
    assert output.read_text().splitlines()[0] == "sample,tip,angle,speed,swing,failure"

    with pytest.raises(catena.InputError, match="a measure cannot be named `speed`"):
        catena.Study(path, {"speed": swing})
    with pytest.raises(catena.InputError, match="a measure is not a function"):
        catena.Study(path, {"swing": 3})
    with pytest.raises(catena.InputError, match="the run has no column `joint.joint1.fw`") as caught:
        catena.Study(path, {"swing": swing}, record=["joint.joint1.fw"])
    assert "did you mean" in caught.value.hint


def test_mistakes(study, tmp_path):
    with pytest.raises(catena.InputError, match="there is no sample 16"):
        study.run([16])
    path = tmp_path / "wrong.toml"
    path.write_text(STUDY.replace("link3.mass", "link4.mass"))
    with pytest.raises(catena.ModelError, match="there is no link `link4`") as caught:
        catena.Study(path)
    assert caught.value.line == 10 and "link1" in caught.value.hint


THROW = """format = "catena-study/1"
model = "lift.toml"
[[parameter]]
name = "speed"
path = "v.lift"
uniform = [0, 10]
[run]
duration = 1
interval = 0.01
[[measure]]
name = "miss"
value = "last(q.lift) * last(q.lift)"
[[measure]]
name = "top"
value = "max(q.lift)"
[optimize]
minimise = "miss"
tolerance = 1e-7
[[constraint]]
measure = "top"
high = 1
"""


def test_the_optimum_is_found(tmp_path):
    lift = catena.Model("lift").add_link("cabin", mass=2.0).add_joint("lift", "prismatic", child="cabin", axis=[0, 0, 1])
    lift.save(tmp_path / "lift.toml")
    (tmp_path / "throw.toml").write_text(THROW)
    found = catena.optimize(tmp_path / "throw.toml")
    # thrown as high as the ceiling permits: v² = 2 g h
    assert found.satisfies and abs(found.values["speed"] - np.sqrt(2 * 9.81)) < 1e-4
    assert found.history[0]["parameters"]["speed"] == 5.0
    (tmp_path / "plain.toml").write_text(THROW.split("[optimize]")[0])
    with pytest.raises(catena.errors.Error):
        catena.optimize(tmp_path / "plain.toml")


def test_texts_are_values(tmp_path):
    study = THROW.split("[optimize]")[0].replace("uniform = [0, 10]", "values = [1, 2]").replace(
        "[run]", '[[parameter]]\nname = "scheme"\nvalues = ["rk4", "dopri5"]\n[design]\nkind = "grid"\n[run]\nmethod = "{scheme}"'
    )
    catena.Model("lift").add_link("cabin", mass=2.0).add_joint("lift", "prismatic", child="cabin", axis=[0, 0, 1]).save(tmp_path / "lift.toml")
    (tmp_path / "texts.toml").write_text(study)
    results = catena.Study(tmp_path / "texts.toml").run()
    assert results.values["scheme"].tolist() == ["rk4", "dopri5", "rk4", "dopri5"]
    assert results.values["speed"].tolist() == [1.0, 1.0, 2.0, 2.0]
