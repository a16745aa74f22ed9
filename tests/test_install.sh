#!/bin/sh
# Tests of the installed package, as its user meets it: the examples build against a fresh prefix and run, by find_package() with either
# library, and by pkg-config.
#
# usage: sh tests/test_install.sh BUILD_DIR [CC]         closes with `N passed, N failed`
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 cc=${2:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
npassed=0 nfailed=0

# try WHAT COMMAND...: passes if the command does
try() {
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        npassed=$((npassed + 1))
    else
        nfailed=$((nfailed + 1))
        echo "FAILED: $what"
        cat "$work/log"
    fi
}

try 'install' cmake --install "$build" --prefix "$work/prefix"
[ ! -x "$work/prefix/bin/upsweep" ] || try 'the installed tool' "$work/prefix/bin/upsweep" --version

# ---- the interface and nothing else: a name of ours that a program shared would be called in place of one of them ----

# only_ours FILE [NM_OPTION]: every name that the library offers begins with upsweep_
only_ours() {
    nm ${2-} -g --defined-only "$1" >"$work/names" || return 1
    grep -q ' T upsweep_scan$' "$work/names" && ! grep ' [A-Z] ' "$work/names" | grep -v ' [A-Z] upsweep_[a-z0-9_]*$'
}
if command -v nm >/dev/null 2>&1; then
    try 'names of the static library' only_ours "$(find "$work/prefix" -name libupsweep.a)"
    try 'names of the shared library' only_ours "$(find "$work/prefix" -name libupsweep.so)" -D
fi

# ---- find_package() ----

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(upsweep 0.1 REQUIRED)
add_executable(shared $root/examples/scan.c)
target_link_libraries(shared PRIVATE upsweep::upsweep)
add_executable(static $root/examples/sort.c)
target_link_libraries(static PRIVATE upsweep::upsweep_static)
EOF
try 'find_package: configure' \
    cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc"
try 'find_package: build' cmake --build "$work/user/build"
try 'find_package: the shared library' "$work/user/build/shared"
try 'find_package: the static library' "$work/user/build/static"

# ---- pkg-config, from a prefix that has moved since ----

if command -v pkg-config >/dev/null 2>&1; then
    mv "$work/prefix" "$work/moved"
    libdir=$(dirname "$(find "$work/moved" -name libupsweep.a)")
    flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs upsweep)
    # shellcheck disable=SC2086
    try 'pkg-config: build' "$cc" -std=c17 "$root/examples/compact.c" $flags -o "$work/compact"
    try 'pkg-config: run' env LD_LIBRARY_PATH="$libdir" "$work/compact"
    rm "$libdir"/libupsweep.so*
    flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --static --cflags --libs upsweep)
    # shellcheck disable=SC2086
    try 'pkg-config --static: build' "$cc" -std=c17 "$root/examples/scan.c" $flags -o "$work/scan"
    try 'pkg-config --static: run' "$work/scan"
fi

# ---- add_subdirectory(): nothing is installed but what is the user's own ----

mkdir "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(parent C)
add_subdirectory($root upsweep)
add_executable(mine $root/examples/scan.c)
target_link_libraries(mine PRIVATE upsweep::upsweep)
install(FILES $root/LICENSE DESTINATION mine)
EOF
try 'add_subdirectory: configure' \
    cmake -S "$work/parent" -B "$work/parent/build" -DUPSWEEP_CUDA=OFF -DCMAKE_C_COMPILER="$cc"
try 'add_subdirectory: optimised, though the project has no build type' \
    grep -q ' -O3' "$work/parent/build/upsweep/CMakeFiles/upsweep_objects.dir/flags.make"
try 'add_subdirectory: install' cmake --install "$work/parent/build" --prefix "$work/own"
try 'add_subdirectory: only its own' test "$(ls "$work/own")" = mine

echo "$npassed passed, $nfailed failed"
[ "$nfailed" -eq 0 ]
