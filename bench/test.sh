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
cp "$work/out" "$work/table"
expect "no result is wrong" 0 grep -q ' 0 failed' "$work/table"
expect "a line of CSV for each of JSON" 0 test "$(wc -l <"$work/run.jsonl")" -eq "$(wc -l <"$work/run.csv")"
expect "JSON as others read it" 0 python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert "machine" in lines[0] and len(lines) > 100
for row in lines[1:]:
    assert row["ms_min"] <= row["ms"] <= row["ms_max"] and row["n"] in (1, 77, 1000) and row["backend"] == "cpu", row
' "$work/run.jsonl"

expect "pairs with values of each size, and indices" 0 python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
kinds = {(row["primitive"], row["type"], row["value_nbytes"]) for row in rows if row["group"] in ("sort-pairs", "argsort")}
wanted = {("sort_pairs", key, nbytes) for key in ("u32", "u64") for nbytes in (4, 8, 16)} | {("argsort", key, None) for key in ("u32", "u64", "f32")}
assert kinds == wanted, kinds ^ wanted
' "$work/run.jsonl"

# An earlier run that took a quarter of an hour for each call.
sed 's/"ms": [0-9.e+-]*/"ms": 1000000/; s/"spread": [0-9.e+-]*/"spread": 0/' "$work/run.jsonl" >"$work/slow.jsonl"
expect "a table compares what is of one run, the later one" 0 python3 -c '
import sys
sys.path.insert(0, sys.argv[1])
import rows
fast, slow = ([(ours["ms"], peer["ms"]) for ours, peer in rows.against_peers(rows.read_all(paths)[1])] for paths in (sys.argv[3:1:-1], sys.argv[2:]))
assert len(fast) > 50 and fast == [(ours["ms"], peer["ms"]) for ours, peer in rows.against_peers(rows.read(sys.argv[2])[1])]
assert len(slow) == len(fast) and {ms for pair in slow for ms in pair} == {1000000}
' "$(dirname "$0")" "$work/run.jsonl" "$work/slow.jsonl"
expect "text, in every way" 0 "$bench" --row-seconds 0.0005 --only utf8-scripts,utf8-checks --size 1,2,3,77,50001,200003 --backend cpu \
    --encoding utf32,utf16le,utf16be,utf8 --mode replace,remove,strict --json "$work/text.jsonl"
expect "as JSON" 0 python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
kinds = {(row["primitive"], row["type"], row["mode"], row["distribution"]) for row in rows if row["algorithm"] == "upsweep"}
scripts, good = 8, 6 # what stops at the first error is measured on good text only
wanted = 4 * (2 * scripts + good) + 3 * (2 * scripts + good) + good + scripts # decode, encode, validate, count
assert len(kinds) == wanted, (len(kinds), wanted)
assert all(abs(row["gb_per_s"] * 1e9 / row["items_per_s"] - 1) < 1e-3 for row in rows if row["primitive"] == "utf8_decode")
assert {row["mode"] for row in rows if row["peer_version"]} <= {"strict", None}
' "$work/text.jsonl"

expect "a sweep" 0 "$bench" --row-seconds 0.0005 --plan sweep --size 2^3..2^6/4 --backend cpu --algorithm upsweep --csv "$work/sweep.csv"
expect "has sizes between powers of two, in the CSV too" 0 python3 -c '
import csv, sys
sizes = sorted({int(row["n"]) for row in csv.DictReader(open(sys.argv[1]))})
assert sizes == [8, 10, 11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64], sizes
' "$work/sweep.csv"
expect "sorts of many kinds of keys" 0 "$bench" --row-seconds 0.0005 --plan kinds --size 3,5000 --backend cpu --algorithm upsweep --json "$work/kinds.jsonl"
cp "$work/out" "$work/table"
expect "none of them wrong" 0 grep -q ' 0 failed' "$work/table"
expect "each kind of keys with each type that has it" 0 python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
points = {(row["primitive"], row["type"], row["distribution"], row["n"]) for row in rows}
assert len(points) == len(rows) == 2 * (6 * 18 + 4 * 20 + 2 * 20 + 12), (len(points), len(rows))
' "$work/kinds.jsonl"
expect "an end in time" 0 "$bench" --max-seconds 0.2 --backend cpu --json "$work/short.jsonl"
cp "$work/out" "$work/table"
expect "that says so" 0 grep -q '^stopped after 0.2 s' "$work/table"
expect "and leaves whole lines" 0 python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$work/short.jsonl"

expect "compare" 0 "$bench" --row-seconds 0.0005 --size 1000 --backend cpu --only scan-size --compare "$work/slow.jsonl"
expect "all are faster" 0 grep -q '^[1-9][0-9]* faster, 0 slower' "$work/out"

expect "an axis that will not do" 2 "$bench" --type i31
expect "values of no such size" 2 "$bench" --value-nbytes 12
expect "no elements" 2 "$bench" --size 0
expect "an end before its beginning" 2 "$bench" --size 2^5..2^3
expect "more than all" 2 "$bench" --keep 101
expect "a group that is not there" 2 "$bench" --only scan-sise
expect "an algorithm that nobody has" 2 "$bench" --algorithm upsweap
expect "a plan that is not there" 2 "$bench" --plan all
expect "nothing to measure" 2 "$bench" --primitive utf8_decode --distribution sorted
expect "an unknown option" 2 "$bench" --sise 3
expect "an old run that is not there" 2 "$bench" --compare "$work/none.jsonl"
expect "a full disk" 2 "$bench" --size 10 --only scan-size --row-seconds 0.0005 --json /dev/full
expect "a list" 0 "$bench" --list
expect "kinds of keys that have no such type" 2 "$bench" --only kinds --type u8 --distribution zipf
expect "help" 0 "$bench" --help
expect "which says what each distribution is" 0 grep -q "^  zipf .*Zipf's law" "$work/out"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
