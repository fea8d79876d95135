#!/bin/sh
# Builds catena and compares it with its peers:
#   peers/run.sh agreement           with Pinocchio on robots            -> docs/peers/agreement.md
#   peers/run.sh robots              every robot, every command          -> docs/peers/robots.md
#   peers/run.sh spherical-chains    long chains of spherical joints     -> docs/peers/spherical-chains.{md,svg}
#   peers/run.sh simulation          speed of simulation                 -> docs/peers/simulation.md
#   peers/run.sh speed               speed of single calls; --quick      -> docs/peers/speed.{md,csv,svg}
#   peers/run.sh generated           generated code and CasADi's          -> docs/peers/generated.{md,csv,svg}
#   peers/run.sh closed-chains       speed of closed chains              -> docs/peers/closed-chains.md
#   peers/run.sh python              speed from Python                   -> docs/peers/python.md
#   peers/run.sh ensembles           many simulations                    -> docs/peers/ensembles.md
#   peers/run.sh cluster             a study on a Ray cluster            -> docs/peers/cluster.md
#   peers/run.sh mjcf                MJCF files as MuJoCo reads them     -> docs/peers/mjcf.md
#   peers/run.sh sdf                 SDF files as Drake reads them       -> docs/peers/sdf.md
#   peers/run.sh coming-from         ten tasks in five engines           -> docs/peers/coming-from.md
#   peers/run.sh all                 all of them
# CATENA names a program to use instead of the one built here; simulation and speed need none and build their
# benches instead.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$here/run.sh" >&2
    exit 2
}
what=${1:-}
[ $# -gt 0 ] && shift
case $what in
    agreement) scripts=agreement ;;
    robots) scripts=robots ;;
    spherical-chains) scripts=spherical_chain ;;
    simulation) scripts=simulation ;;
    speed) scripts=speed ;;
    generated) scripts=generated ;;
    closed-chains) scripts=closed_chains ;;
    python) scripts=python_speed ;;
    ensembles) scripts=ensembles ;;
    cluster) scripts=cluster ;;
    mjcf) scripts=mjcf_table ;;
    sdf) scripts=sdf_table ;;
    coming-from) scripts=coming_from ;;
    all) scripts="agreement robots spherical_chain simulation speed generated closed_chains python_speed ensembles cluster mjcf_table sdf_table coming_from" ;;
    *) usage ;;
esac
if [ ! -x "$here/build/venv/bin/python" ]; then
    echo "error: the peers are not installed" >&2
    echo "hint: run peers/setup.sh first" >&2
    exit 2
fi
if [ -z "${CATENA:-}" ] && [ "$scripts" != simulation ] && [ "$scripts" != speed ] && [ "$scripts" != closed_chains ] && [ "$scripts" != python_speed ] && [ "$scripts" != ensembles ] && [ "$scripts" != cluster ]; then
    (cd "$here/.." && cargo build --release --quiet --package catena-cli)
    CATENA=${CARGO_TARGET_DIR:-$here/../target}/release/catena
    export CATENA
fi
case $scripts in
    *python_speed* | *ensembles* | *cluster*) "$here/build/venv/bin/pip" install --quiet "$here/.." ;;
esac
case $scripts in
    *coming_from*) "$here/build/coming-from/bin/pip" install --quiet "$here/.." ;;
esac
failed=0
for script in $scripts; do
    environment=venv
    [ "$script" = coming_from ] && environment=coming-from
    "$here/build/$environment/bin/python" "$here/$script.py" "$@" || failed=$?
done
exit "$failed"
