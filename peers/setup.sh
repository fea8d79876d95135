#!/bin/sh
# Installs the peers, at the versions of requirements.txt, into peers/build/venv.
# PYTHON chooses the interpreter (3.11 or later).
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
echo "peers are ready: peers/run.sh agreement, peers/run.sh spherical-chains, peers/run.sh simulation"
