#!/bin/sh
# run.sh: sets up, builds and runs Upsweep on a fresh Debian machine (root or sudo, nothing else).
#
#   sh run.sh demo [ARGS]   build, then `upsweep demo ARGS`: the whole ladder, timed and checked
#   sh run.sh test          build three ways (plain, ASan + UBSan, TSan) and run every test
#   sh run.sh gpu-test      on a machine with a GPU: the same tests on it, the sanitizers, and docs/results/gpu-tests.json
#   sh run.sh bench [ARGS]  measure it all side by side and draw it: build/bench.md (--full: all sizes, for a GPU machine)
#
# Build trees: build/ (the tool is build/bin/upsweep), build-asan/, build-tsan/.
set -eu
cd "$(dirname "$0")"
jobs=$(nproc 2>/dev/null || echo 2)

# ---- set-up ----

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# need PROGRAM PACKAGE...: notes the packages for install_missing unless the program is there.
missing=
need() {
    command -v "$1" >/dev/null 2>&1 || { shift; missing="$missing $*"; }
}

install_missing() {
    [ -n "$missing" ] || return 0
    echo "run.sh: installing$missing" >&2
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@"' sh $missing >/dev/null
    missing=
}

set_up() {
    need cc gcc libc6-dev
    need c++ g++
    need make make
    need cmake cmake
    install_missing
    # A toolkit in its usual place that is not on the PATH.
    if ! command -v nvcc >/dev/null 2>&1 && [ -x /usr/local/cuda/bin/nvcc ]; then PATH=$PATH:/usr/local/cuda/bin; fi
}

# build DIR [CMAKE ARGS]: configures and builds into DIR.
build() {
    dir=$1
    shift
    echo "run.sh: building in $dir/, which takes some minutes the first time" >&2
    cmake -S . -B "$dir" "$@" >"$dir.log" 2>&1 && cmake --build "$dir" -j "$jobs" >>"$dir.log" 2>&1 && rm "$dir.log" && return
    cat "$dir.log"
    rm "$dir.log"
    exit 1
}

# ---- commands ----

demo() {
    build build
    exec build/bin/upsweep demo "$@"
}

# run_tests DIR: runs its tests, keeps going after a failure, and adds up the lines `N passed, N failed` that each program closes with.
run_tests() {
    ctest --test-dir "$1" -j "$jobs" --output-on-failure || failed_builds="$failed_builds $1"
    cat "$1"/Testing/Temporary/LastTest.log >>"$log"
}

# The sources are formatted by clang-format 14; another version, or none, has no say.
check_format() {
    case $(clang-format --version 2>/dev/null) in *' 14.'*) ;; *) return 0 ;; esac
    git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs -r clang-format --dry-run -Werror || failed_builds="$failed_builds format"
}

run_all_tests() {
    need python3 python3
    install_missing
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    failed_builds=
    check_format
    build build -DUPSWEEP_WERROR=ON
    run_tests build
    UPSWEEP_TEST_SCALE=quick
    export UPSWEEP_TEST_SCALE
    build build-asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DUPSWEEP_CUDA=OFF -DUPSWEEP_SANITIZE=address,undefined
    run_tests build-asan
    UPSWEEP_TEST_SCALE=threads # as small, without what has one thread
    build build-tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DUPSWEEP_CUDA=OFF -DUPSWEEP_SANITIZE=thread
    run_tests build-tsan
    sh tests/gpu_record.sh check
    awk '/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3 } END { printf "%d passed, %d failed\n", p, f }' "$log"
    [ -z "$failed_builds" ] || { echo "run.sh: tests failed in:$failed_builds" >&2; exit 1; }
}

gpu_test() {
    build build -DUPSWEEP_CUDA=ON
    exec sh tests/gpu_record.sh run build
}

bench() {
    python=/usr/bin/python3 # where the package puts Matplotlib
    { [ -f /usr/include/tbb/version.h ] && "$python" -c 'import matplotlib' 2>/dev/null; } || { need matplotlib python3-matplotlib libtbb-dev; install_missing; }
    build build
    rm -rf build/bench.jsonl build/img
    build/bin/upsweep-bench "$@" --json build/bench.jsonl --csv build/bench.csv
    [ -f build/bench.jsonl ] || return 0 # --help, --list
    "$python" bench/plot.py build/bench.jsonl --out build/img
    "$python" bench/tables.py --new build/bench.md build/bench.jsonl
    echo "run.sh: the rows are in build/bench.jsonl and build/bench.csv, the tables in build/bench.md, the figures in build/img"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
    demo) set_up; demo "$@" ;;
    test) set_up; run_all_tests ;;
    gpu-test) set_up; gpu_test ;;
    bench) set_up; bench "$@" ;;
    *) sed -n 's/^# \{0,1\}//; 2,9p' "$0" >&2; exit 2 ;;
esac
