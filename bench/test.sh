#!/bin/sh
# test.sh BENCH: does the benchmark run, check, write and compare as it says? Sizes are tiny: times do not matter here.
set -u
bench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# expect NAME STATUS COMMAND...
expect() {
    name=$1
    wanted=$2
    shift 2
    "$@" >"$work/new" 2>&1 # the command may look into the output of the one before
    status=$?
    mv "$work/new" "$work/out"
    if [ "$status" -eq "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name: status $status instead of $wanted"
        tail -n 5 "$work/out"
    fi
}

expect "every group" 0 "$bench" --row-seconds 0.0005 --size 1,77,1000 --backend cpu --json "$work/run.jsonl" --csv "$work/run.csv"
expect "no result is wrong" 0 grep -q ' 0 failed' "$work/out"
expect "a line of CSV for each of JSON" 0 test "$(wc -l <"$work/run.jsonl")" -eq "$(wc -l <"$work/run.csv")"
expect "JSON as others read it" 0 python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert "machine" in lines[0] and len(lines) > 100
for row in lines[1:]:
    assert row["ms_min"] <= row["ms"] <= row["ms_max"] and row["n"] in (1, 77, 1000) and row["backend"] == "cpu", row
' "$work/run.jsonl"

# An earlier run that took a quarter of an hour for each call.
sed 's/"ms": [0-9.e+-]*/"ms": 1000000/; s/"spread": [0-9.e+-]*/"spread": 0/' "$work/run.jsonl" >"$work/slow.jsonl"
expect "compare" 0 "$bench" --row-seconds 0.0005 --size 1000 --backend cpu --only scan-size --compare "$work/slow.jsonl"
expect "all are faster" 0 grep -q '^[1-9][0-9]* faster, 0 slower' "$work/out"

expect "an axis that will not do" 2 "$bench" --type i31
expect "no elements" 2 "$bench" --size 0
expect "an unknown option" 2 "$bench" --sise 3
expect "an old run that is not there" 2 "$bench" --compare "$work/none.jsonl"
expect "a full disk" 2 "$bench" --size 10 --only scan-size --row-seconds 0.0005 --json /dev/full
expect "a list" 0 "$bench" --list
expect "help" 0 "$bench" --help

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
