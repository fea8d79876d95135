"""Pages for a browser, looked at without one."""

import os
import urllib.error
import urllib.request

import pytest

import catena


def page(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.status == 200
        return answer.read().decode()


@pytest.fixture(scope="module")
def run():
    return catena.model("planar3").simulate([0.1, 0.2, 0.3], duration=0.2)


def test_a_run(run):
    viewer = run.view(run, browser=False)
    folder = viewer._folder
    assert viewer.url.startswith("http://127.0.0.1:") and viewer.is_open and os.path.isdir(folder)
    assert "<html" in page(viewer.url).lower()
    viewer.close()
    assert not viewer.is_open and not os.path.exists(folder)
    with pytest.raises(urllib.error.URLError):
        page(viewer.url)
    viewer.close()  # twice does no harm
    assert "closed" in repr(viewer)


def test_a_model(arm):
    with arm.view(browser=False) as viewer:
        assert "<html" in page(viewer.url).lower() and viewer.url in viewer._repr_html_()
    assert not viewer.is_open


def test_a_live_model():
    with catena.model("four-bar-1").view(live=True, browser=False) as viewer:
        assert "<html" in page(viewer.url).lower()


def test_a_port_that_is_taken(arm):
    with arm.view(browser=False) as viewer:
        port = int(viewer.url.split(":")[2].split("/")[0])
        with pytest.raises(catena.Error, match="port|address|in use"):
            arm.view(browser=False, port=port)


def test_a_report(run, tmp_path):
    run.report(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text()
    assert "<html" in text.lower() and "planar3" in text
    with pytest.raises(catena.Error, match="folder|directory"):
        run.report(tmp_path / "nowhere" / "run.html")
