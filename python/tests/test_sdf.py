"""SDF files from Python."""

import numpy as np
import pytest

import catena

ARM = """<sdf version="1.7"><model name="arm">
  <link name="rod"><inertial><mass>2</mass><pose>0 0 -0.5 0 0 0</pose></inertial></link>
  <joint name="pin" type="revolute"><parent>world</parent><child>rod</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>"""


def test_load_and_loads(root, tmp_path):
    arm = catena.load(root / "models" / "two_link_arm.sdf")
    same = catena.load(root / "models" / "two_link_arm.urdf")
    q, v = arm.random(3)
    assert np.allclose(arm.inertia(q), same.inertia(q), rtol=1e-13, atol=1e-15)
    rod = catena.loads(ARM, "sdf")
    # 1 kg·m² about every axis and 2 kg half a metre away
    assert rod.inertia([0.3])[0, 0] == pytest.approx(1.5, rel=1e-15)
    rod.save(tmp_path / "rod.sdf")
    again = catena.load(tmp_path / "rod.sdf")
    assert again.inertia([0.3])[0, 0] == pytest.approx(1.5, rel=1e-15)
    assert again.to_sdf() == catena.loads(again.to_sdf(), "sdf").to_sdf()


def test_options():
    windy = ARM.replace("<inertial>", "<enable_wind>true</enable_wind><inertial>")
    with pytest.raises(catena.Error, match="wind on link `rod` is not supported"):
        catena.loads(windy, "sdf")
    rod = catena.loads(windy, "sdf", ignore=["wind"])
    assert any("left out on request: wind on link `rod`" in line for line in rod.assumptions)
    loose = ARM.replace("<parent>world</parent>", "<parent>hub</parent>").replace("<link", '<link name="hub"/><link', 1)
    assert catena.loads(loose, "sdf").nv == 7
    assert catena.loads(loose, "sdf", base="fixed").nv == 1


def test_what_sdf_cannot_say(tmp_path):
    with pytest.raises(catena.Error, match="SDF cannot express"):
        catena.model("zoo").save(tmp_path / "zoo.sdf")
