#!/bin/sh
# Installs the peers, at the versions of requirements.txt, into peers/build/venv, and compiles the engines of the speed comparison.
# Compilers come from Debian (as root; others install g++ and clang-22 or clang-19 themselves), everything else from PyPI.
# PYTHON chooses the interpreter (3.11 or later). Installed parts are kept.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "error: the scripts need Python 3.11 or later, $python is $("$python" --version 2>&1)" >&2
    echo "hint: PYTHON=python3.12 peers/setup.sh" >&2
    exit 1
fi
[ -x build/venv/bin/python ] || "$python" -m venv build/venv
build/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
# mjbatch needs its own version of MuJoCo
[ -x build/mjbatch/bin/python ] || "$python" -m venv build/mjbatch
build/mjbatch/bin/python -m pip install --quiet --disable-pip-version-check mjbatch==0.1.4
# robotics-toolbox and Exudyn require other versions of shared packages
[ -x build/coming-from/bin/python ] || "$python" -m venv build/coming-from
build/coming-from/bin/python -m pip install --quiet --disable-pip-version-check pin==4.1.0 mujoco==4.0.0 roboticstoolbox-python==1.5.0 exudyn==1.13.6

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends "$@" >/dev/null 2>&1
}
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    if ! command -v g++ >/dev/null || ! { command -v clang++-22 || command -v clang++-19; } >/dev/null; then
        apt-get update --quiet --quiet >/dev/null 2>&1 || true
        command -v g++ >/dev/null || install g++ || echo "warning: g++ cannot be installed" >&2
        install clang-22 || install clang-19 || echo "warning: neither clang-22 nor clang-19 can be installed" >&2
    fi
fi
speed/build.sh
echo "peers are ready: peers/run.sh agreement, spherical-chains, simulation, speed, generated or all"
