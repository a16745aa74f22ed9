#!/bin/sh
# gpu_record.sh: which kernels have been verified on a GPU, and when.
#
#   gpu_record.sh run BUILD   runs the suite on this machine's GPU, then a reduced one under each tool of compute-sanitizer, and writes
#                             docs/results/gpu-tests.json with the counts and a digest of the kernel sources; fails if anything failed,
#                             or did not finish: no program may take longer than GPU_RECORD_SECONDS, 400 if it is not set
#   gpu_record.sh check       compares that digest with the sources of this tree and warns if they have changed since (never fails:
#                             the machine that asks has no GPU)
set -u
cd "$(dirname "$0")/.." || exit
record=docs/results/gpu-tests.json

# Of all but layout, which clang-format may still change.
digest() {
    find src/cuda src/op.h src/backend.h ladder \( -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -path 'src/cuda/*.c' \) -print | LC_ALL=C sort |
        xargs cat | tr -d '[:space:]' | sha256sum | cut -d ' ' -f 1
}

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$record"; }

check() {
    if [ ! -f "$record" ]; then
        echo "WARNING: there is no $record: these kernels have not been verified on a GPU" >&2
    elif [ "$(field digest)" != "$(digest)" ]; then
        echo "WARNING: the kernel sources have changed since they were last verified on a GPU ($(field date), $(field device))" >&2
    else
        echo "kernels verified on $(field device), $(field date): $(field passed) passed, $(field failed) failed"
        [ -z "$(field unfinished)" ] || echo "WARNING: but these did not finish in time, and are not counted: $(field unfinished)" >&2
        for tool in memcheck racecheck initcheck synccheck; do
            [ "$(field $tool)" = 0 ] || echo "WARNING: but $tool reported $(field $tool) (none: it did not finish)" >&2
        done
    fi
}

# ---- run ----

logs=
passed=0
failed=0
unfinished=

# plan NAME COMMAND: a program that run_planned is to run, beside others, since most of a test is the CPU's work; a kernel that hangs must
# not hang the record.
plan() { echo "timeout ${GPU_RECORD_SECONDS:-400} $2 >'$logs/$1' 2>&1; echo \$? >'$logs/$1.status'" >>"$logs/plan"; }

run_planned() {
    xargs -P $((($(nproc) + 1) / 2)) -d '\n' -I COMMAND sh -c COMMAND <"$logs/plan"
    rm "$logs/plan"
}

# add_one NAME: its closing counts; a program that dies before it closes is one failure, but one that was stopped for its time and had
# not reported any is unfinished. Status 77: all of it was skipped.
add_one() {
    echo "== $1"
    status=$(cat "$logs/$1.status")
    closing=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$logs/$1" | tail -n 1)
    grep -v ' passed, ' "$logs/$1" | head -n 15
    echo "   ${closing:-died with status $status}"
    if [ "$status" -eq 124 ] && ! grep -q '^    in: ' "$logs/$1"; then
        unfinished="$unfinished${unfinished:+ }$1"
        return
    fi
    passed=$((passed + $(echo "${closing:-0 passed}" | cut -d ' ' -f 1)))
    failed=$((failed + $(echo "${closing:-0 passed, 1 failed}" | cut -d ' ' -f 3)))
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || [ -z "$closing" ] || [ "$(echo "$closing" | cut -d ' ' -f 3)" -gt 0 ] || failed=$((failed + 1))
}

# sanitized TOOL: the number of errors and hazards it has reported, in all its runs; "none" if one did not finish.
sanitized() {
    total=0
    for log in "$logs/$1".[0-9]; do
        summary=$(grep -E 'SUMMARY' "$log" | tail -n 1 | grep -oE '[0-9]+' | head -n 1)
        [ "${summary:-1}" = 0 ] || grep -E '^=========' "$log" | head -n 30 >&2
        [ -n "$summary" ] || { echo '"none"'; return; }
        total=$((total + summary))
    done
    echo "$total"
}

run() {
    build=$1
    logs=$(mktemp -d)
    trap 'rm -rf "$logs"' EXIT
    export UPSWEEP_TEST_BACKENDS=cuda
    for program in "$build"/bin/test_cuda_sort* "$build"/bin/test_*; do # the longest first
        name=$(basename "$program")
        grep -q "/$name'" "$logs/plan" 2>/dev/null || plan "$name" "'$program'"
    done
    plan demo "'$build/bin/upsweep' demo --backend all --size 1048576"
    run_planned
    for tool in racecheck memcheck initcheck synccheck; do # afterwards: they keep the GPU busy, for which the tests would wait
        for path in 2 0 1; do                              # side by side, the longest first
            plan $tool.$path "env UPSWEEP_TEST_SCALE=sanitizer UPSWEEP_TEST_PATH=$path \
                compute-sanitizer --tool $tool --error-exitcode 0 '$build/bin/test_cuda_small'"
        done
        for part in 0 1 2 3 4; do
            plan $tool.$((3 + part)) "compute-sanitizer --tool $tool --error-exitcode 0 '$build/bin/test_cuda_sort_small' $part 5"
        done
    done
    run_planned
    for program in "$build"/bin/test_*; do add_one "$(basename "$program")"; done
    add_one demo
    memcheck=$(sanitized memcheck)
    racecheck=$(sanitized racecheck)
    initcheck=$(sanitized initcheck)
    synccheck=$(sanitized synccheck)
    mkdir -p docs/results
    cat >"$record" <<JSON
{
  "device": "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)",
  "driver": "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)",
  "cuda": "$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')",
  "date": "$(date -u +%Y-%m-%d)",
  "passed": $passed,
  "failed": $failed,
  "unfinished": "$unfinished",
  "memcheck": $memcheck,
  "racecheck": $racecheck,
  "initcheck": $initcheck,
  "synccheck": $synccheck,
  "digest": "$(digest)"
}
JSON
    cat "$record"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ -z "$unfinished" ] && [ "$memcheck$racecheck$initcheck$synccheck" = 0000 ]
}

case ${1:-} in
    run) run "$2" ;;
    check) check ;;
    *) sed -n 's/^# \{0,1\}//; 2,8p' "$0" >&2; exit 2 ;;
esac
