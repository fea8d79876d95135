#!/bin/sh
# Compiles the engines of the speed comparison into peers/build/bin: Pinocchio header-only with clang and with gcc, MuJoCo's driver,
# and the measurement of the processor's peak. Called by peers/setup.sh. Takes about 4 minutes and 5 GB of memory the first time; what
# is up to date is left alone.
#   peers/speed/build.sh [closed]     with `closed`: only Pinocchio's closed chains
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
bin=$build/bin
site=$(echo "$build"/venv/lib/python3.*/site-packages)
headers=$site/cmeel.prefix/include
mkdir -p "$bin" "$build/objects"

clang=
for number in 22 21 20 19 18 17 16 15 14; do
    if command -v "clang++-$number" >/dev/null; then
        clang=clang++-$number
        break
    fi
done
gcc=
if command -v g++ >/dev/null; then gcc=g++; fi
if [ -z "$clang$gcc" ]; then
    echo "warning: there is no clang++-14 … 22 and no g++: peers/run.sh speed will not work" >&2
    echo "hint: apt-get install g++ clang-19" >&2
    exit 0
fi
cc=gcc
if [ -z "$gcc" ]; then cc=$(echo "$clang" | sed 's/++//'); fi

# fresh NAME COMMAND FILES: is build/bin/NAME the product of this command and these files?
fresh() {
    name=$1 command=$2
    shift 2
    stamp=$( (echo "$command" && cat "$@") | sha256sum)
    [ -x "$bin/$name" ] && [ "$(cat "$bin/$name.stamp" 2>/dev/null)" = "$stamp" ]
}

# Pinocchio's Data fills four tensors of nv³ numbers for second derivatives with zeros: 32 GB at nv = 1000. Nothing timed here uses
# them, so a copy of that one header, found first, gives them no size.
overlay=$build/overlay/pinocchio/src/multibody
mkdir -p "$overlay"
sed -E 's/(d2tau_d[a-z]+)\(model\.nv, model\.nv, model\.nv\)/\1(0, 0, 0)/' \
    "$headers/pinocchio/src/multibody/data.hxx" > "$overlay/data.hxx"
if cmp -s "$overlay/data.hxx" "$headers/pinocchio/src/multibody/data.hxx"; then
    echo "warning: Pinocchio's data.hxx is not as expected; long chains will need much memory" >&2
fi

# Limits of boost's lists that Pinocchio's variant of joints exceeds.
boost="-DBOOST_MPL_LIMIT_LIST_SIZE=30 -DBOOST_MPL_LIMIT_VECTOR_SIZE=30 -DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"
boost="$boost -DBOOST_FUSION_INVOKE_MAX_ARITY=12"
fast="-O3 -march=native -DNDEBUG -ffp-contract=fast -fno-math-errno -fno-trapping-math"

# pinocchio NAME COMPILER PART…
pinocchio() {
    name=$1 compiler=$2
    shift 2
    sources=
    for part in "$@"; do sources="$sources $here/pinocchio_$part.cpp"; done
    version="$("$compiler" --version | head -n 1), $fast"
    packages=$(cd "$site" && ls -d libpinocchio-* cmeel_eigen-*)
    # shellcheck disable=SC2086
    if ! fresh "$name" "$version $boost $packages" $sources "$here/pinocchio.hpp" "$here/engine.h"; then
        echo "compiling $name" >&2
        objects=
        for source in $sources; do
            object=$build/objects/$name-$(basename "$source" .cpp).o
            # shellcheck disable=SC2086
            "$compiler" -std=c++17 -w $fast $boost -isystem "$build/overlay" -isystem "$headers" -isystem "$headers/eigen3" \
                -c "$source" -o "$object"
            objects="$objects $object"
        done
        # shellcheck disable=SC2086
        "$compiler" $objects -o "$bin/$name"
        echo "$stamp" > "$bin/$name.stamp"
    fi
    echo "$name: $version" > "$bin/$name.flags"
}

what=${1:-all}
waiting=
for family in clang gcc; do
    eval "compiler=\$$family"
    if [ -z "$compiler" ]; then
        rm -f "$bin/pinocchio-$family.flags" "$bin/closed-$family.flags"
        continue
    fi
    pinocchio "closed-$family" "$compiler" main closed & waiting="$waiting $!"
    if [ "$what" = all ]; then
        pinocchio "pinocchio-$family" "$compiler" main trees dynamics derivatives & waiting="$waiting $!"
    fi
done
if [ "$what" = closed ]; then
    for job in $waiting; do wait "$job"; done
    exit 0
fi

simple="-O3 -march=native -DNDEBUG"
library=$(echo "$site"/mujoco/libmujoco.so.*)
version="$("$cc" --version | head -n 1), $simple"
if ! fresh mujoco "$version $library" "$here/mujoco.c" "$here/engine.h"; then
    # shellcheck disable=SC2086
    "$cc" -std=gnu11 $simple -I"$site/mujoco/include" "$here/mujoco.c" -o "$bin/mujoco" "$library" -lm -Wl,-rpath,"$site/mujoco"
    echo "$stamp" > "$bin/mujoco.stamp"
fi
echo "mujoco: the library as published; its driver $version" > "$bin/mujoco.flags"
if ! fresh peak "$version" "$here/peak.c"; then
    "$cc" -std=gnu11 -O2 "$here/peak.c" -o "$bin/peak" -lm
    echo "$stamp" > "$bin/peak.stamp"
fi
for job in $waiting; do wait "$job"; done
