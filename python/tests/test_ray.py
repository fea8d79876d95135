"""Studies on a real Ray cluster of two nodes on this machine: workers, nodes and drivers that die in the middle."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import catena
from catena import _catena, _ray

ray = pytest.importorskip("ray", reason="there is no Ray for this Python: STUDIES ON A CLUSTER ARE NOT TESTED")

# dry friction and settings that vary: samples run one by one, and read the model file each
STUDY = """format = "catena-study/1"
model = "parts/arm.urdf"
[design]
kind = "latin-hypercube"
samples = COUNT
seed = 3
[[parameter]]
name = "payload"
path = "link.lower.mass"
uniform = [-0.1, 3]
[[parameter]]
name = "friction"
path = "joint.*.friction"
loguniform = [0.01, 1]
[[parameter]]
name = "gain"
uniform = [50, 200]
[run]
duration = 1
interval = 0.05
controller = "pd"
to = "shoulder=60deg"
move_time = 0.5
kp = "{gain}"
[[measure]]
name = "peak"
unit = "N·m"
value = "max(abs(tau.shoulder)) / 30"
"""
#: Seconds of the study on one core.
LENGTH = 5.0
#: Seconds that anything may take.
PATIENCE = 120.0


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def folder(root, tmp_path_factory):
    """A study that takes a few seconds on one core, and its results there."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "parts").mkdir()
    shutil.copy(root / "models" / "two_link_arm.urdf", folder / "parts" / "arm.urdf")
    path = folder / "study.toml"
    path.write_text(STUDY.replace("COUNT", "20"))
    begin = time.perf_counter()
    catena.Study(path).run(threads=1)
    count = min(max(int(20 * LENGTH / (time.perf_counter() - begin)), 100), 20_000)
    path.write_text(STUDY.replace("COUNT", str(count)))
    found = catena.sweep(path, folder / "one.parquet", threads=1)
    # some masses are negative: failures are rows like others
    assert 0 < sum(failure is not None for failure in found.failures) < count / 10
    return folder


def same(folder, name):
    return (folder / name).read_bytes() == (folder / "one.parquet").read_bytes()


def started(cluster, folder, output, *more):
    """The program, on the cluster."""
    words = [sys.executable, "-m", "catena", "sweep", "study.toml", "--engine", "ray", "--address", cluster.address, "-o", output]
    return subprocess.Popen([*words, *more], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def kept(folder, output):
    """Samples in the journal."""
    try:
        return max((folder / f"{output}.journal").read_bytes().count(b"\n") - 1, 0)
    except FileNotFoundError:
        return 0


def children(parent):
    """Processes that a process has started, with their names."""
    found = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat, open(f"/proc/{name}/cmdline", "rb") as line:
                if int(stat.read().rpartition(")")[2].split()[1]) == parent:
                    found[int(name)] = line.read().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def busy_workers(cluster):
    """Processes of the cluster that compute samples now."""
    raylets = [process.process.pid for node in cluster.list_all_nodes() for process in node.all_processes["raylet"]]
    names = {pid: name for raylet in raylets for pid, name in children(raylet).items()}
    return [pid for pid, name in names.items() if name.startswith("ray::catena.samples")]


def finished(process):
    try:
        told, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, said
    return said


def test_a_study_needs_no_disk_on_the_nodes(cluster, folder, tmp_path):
    """The cluster gets bytes; the folder is gone when it computes them."""
    away = tmp_path / "away"
    shutil.copytree(folder, away)
    study = _catena.StudyData(str(away / "study.toml"), [], [])
    shipment, ledger = study.pack(), study.begin(str(tmp_path / "away.parquet"), "new")
    shutil.rmtree(away)
    with _ray.Cluster(cluster.address) as joined:
        work = joined.carry_out(shipment, ledger.missing, ledger.take)
    assert ledger.missing == [] and work.lost == 0 and work.workers >= 2 and work.nodes == 2
    assert len(ledger.finish()) == study.count
    assert same(folder, tmp_path / "away.parquet")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
def test_the_driver_is_killed_and_resumed(cluster, folder):
    process = started(cluster, folder, "driver.parquet")
    until(lambda: kept(folder, "driver.parquet") > 20, "no samples")
    helpers = [pid for pid, name in children(process.pid).items() if "catena._ray" in name]
    assert len(helpers) == 1
    process.kill()
    process.wait()
    before = kept(folder, "driver.parquet")
    assert before > 20 and not (folder / "driver.parquet").exists()
    until(lambda: not os.path.exists(f"/proc/{helpers[0]}"), "the helper has stayed")
    shutil.copy(folder / "driver.parquet.journal", folder / "threads.parquet.journal")

    said = finished(started(cluster, folder, "driver.parquet", "--resume"))
    count = len(catena.Study(folder / "study.toml"))
    assert f"resumed: {before} of {count} samples were already computed" in said and " on 2 nodes" in said
    assert same(folder, "driver.parquet") and not (folder / "driver.parquet.journal").exists()

    # who began a study need not end it
    assert len(catena.sweep(folder / "study.toml", folder / "threads.parquet", resume=True).sample) == count
    assert same(folder, "threads.parquet")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
def test_a_worker_dies(cluster, folder):
    process = started(cluster, folder, "worker.parquet")
    until(lambda: kept(folder, "worker.parquet") > 20 and busy_workers(cluster), "no worker")
    os.kill(busy_workers(cluster)[0], signal.SIGKILL)
    said = finished(process)
    assert "lost with a worker and repeated" in said, said
    assert same(folder, "worker.parquet")


def test_a_node_leaves(cluster, folder):
    """In the middle of a study, begun from Python by a process that has joined the cluster."""
    output = folder / "node.parquet"
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        done = []
        sweep = threading.Thread(target=lambda: done.append(catena.sweep(folder / "study.toml", output, engine="ray")))
        sweep.start()
        until(lambda: kept(folder, "node.parquet") > 20, "no samples")
        cluster.remove_node(cluster.second, allow_graceful=False)
        sweep.join(PATIENCE)
        assert done and done[0].sample.tolist() == list(range(len(done[0].sample)))
        assert same(folder, "node.parquet")
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_measures_in_python_travel(cluster, folder, tmp_path):
    shutil.copytree(folder / "parts", tmp_path / "parts")
    (tmp_path / "small.toml").write_text(STUDY.replace("COUNT", "12"))
    study = catena.Study(tmp_path / "small.toml", measures={"range": lambda sample: float(np.ptp(sample.columns["q.elbow"]))})
    here = study.sweep(tmp_path / "here.parquet", threads=1)
    there = study.sweep(tmp_path / "there.parquet", engine="ray", address=cluster.address)
    assert here.measures["range"].tolist() == there.measures["range"].tolist() and (here.measures["range"] > 0).any()
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()


def test_the_commands_of_the_page(cluster, root, tmp_path):
    """The how-to, on this cluster."""
    page = (root / "docs" / "how-to" / "study-on-a-cluster.md").read_text()
    (tmp_path / "payload.toml").write_text(re.search(r"^```toml payload.toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1])
    shutil.copytree(root / "models", tmp_path / "models")
    commands = re.findall(r"^\$ catena (sweep .*)$", page, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        words = command.replace("…:6379", cluster.address).split()
        run = subprocess.run([sys.executable, "-m", "catena", *words], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
        assert run.returncode == 0, run.stderr
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    words = [sys.executable, "-c", block]
    environment = {**os.environ, "RAY_ADDRESS": cluster.address}
    subprocess.run(words, cwd=tmp_path, env=environment, timeout=PATIENCE, check=True, capture_output=True)
    one = (tmp_path / "one-machine.parquet").read_bytes()
    assert one == (tmp_path / "results.parquet").read_bytes() == (tmp_path / "from-python.parquet").read_bytes()


def test_chunks_take_the_wanted_time():
    sizes, queue = _ray.Sizes(), _ray.Queue([(0, 10_000), (20_000, 1_000_000)])
    chunks = []
    while queue.left:
        chunk = queue.cut(sizes.next(queue.left, processors=2))
        chunks.append(chunk)
        sizes.note(chunk.end - chunk.first, 1e-3 * (chunk.end - chunk.first), overhead=1e-4)
    sent = [index for chunk in chunks for index in range(chunk.first, chunk.end)]
    assert sent == [*range(0, 10_000), *range(20_000, 1_000_000)]
    counts = [chunk.end - chunk.first for chunk in chunks]
    assert counts[:4] == [1, 8, 64, 512]
    assert max(counts) == pytest.approx(1e3 * _ray.TARGET, abs=1)
    assert counts[-1] == 1 and len(counts) < 720
    # ten thousand processors would bring the driver a chunk every 0.15 ms: chunks become longer
    assert sizes.target(10_000) == pytest.approx(10_000 * 1e-4 / _ray.BUSY, rel=0.01)
    assert sizes.target(10**9) == _ray.LONGEST


def test_a_sample_that_ends_its_worker_is_found():
    queue, tries = _ray.Queue([(0, 100)]), 0
    with pytest.raises(catena.Error, match="sample 17 has crashed its worker 5 times"):
        while queue.left:
            chunk = queue.cut(64)
            tries += 1
            if chunk.first <= 17 < chunk.end:
                queue.back(chunk)
    assert tries < 30


def test_a_node_with_other_bits_is_refused(folder):
    shipment = _catena.StudyData(str(folder / "study.toml"), [], []).pack()
    version = f'"catena {_catena.__version__}"'.encode()
    assert shipment.count(version) == 1
    with pytest.raises(catena.InputError, match="a node has another version of catena: catena .*, not catena 0.0.0") as caught:
        _catena.StudyData.unpack(shipment.replace(version, b'"catena 0.0.0"'), [], [])
    assert "same version of catena on every node" in caught.value.hint
    with pytest.raises(catena.InputError, match="was changed in transit"):
        _catena.StudyData.unpack(shipment[:-1], [], [])


def test_what_is_missing_is_named(folder, monkeypatch):
    path = folder / "study.toml"
    with pytest.raises(catena.UnsupportedError, match="no Ray cluster at 127.0.0.1:1: "):
        catena.sweep(path, folder / "nowhere.parquet", engine="ray", address="127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(catena.UnsupportedError, match="does not have the package ray") as caught:
        catena.sweep(path, folder / "nowhere.parquet", engine="ray")
    assert "pip install ray" in caught.value.hint
    assert not (folder / "nowhere.parquet.journal").exists()
    for wrong in ({"engine": "rays"}, {"address": "127.0.0.1:1"}, {"engine": "ray", "threads": 2}):
        with pytest.raises(catena.InputError):
            catena.sweep(path, folder / "nowhere.parquet", **wrong)
