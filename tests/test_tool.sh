#!/bin/sh
# Tests of the tool, from the outside: what it writes, what it says, how it ends, and what it leaves behind.
#
# usage: sh tests/test_tool.sh TOOL [DIR]         closes with `N passed, N failed`
#
# The bulk of the data tests is tool/reference.py, which compares with a second implementation in Python; without python3 there remain
# those of this file, which use awk and od. The rest needs a shell: pipes, full disks, signals, standard streams.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tool=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
[ -x "$tool" ] || { echo "no such tool: $tool"; exit 2; }
if [ $# -gt 1 ]; then mkdir -p "$2" && dir=$(cd "$2" && pwd); else dir=$(mktemp -d); fi
work=$(mktemp -d "$dir/tool.XXXXXX") || exit 2
trap 'rm -rf "$work"; [ $# -gt 1 ] || rmdir "$dir"' EXIT
log=$work/log # what commands said; kept out of the directory that they work in
mkdir "$log" "$work/files" && cd "$work/files" || exit 2
npassed=0 nfailed=0

verdict() { # WHAT STATUS [DETAIL]
    if [ "$2" -eq 0 ]; then
        npassed=$((npassed + 1))
    else
        nfailed=$((nfailed + 1))
        echo "FAILED: $1 ${3-}"
    fi
}

# expect WHAT WANTED COMMAND...: the command is good and writes WANTED (newlines as blanks) to standard output
expect() {
    what=$1 wanted=$2
    shift 2
    got=$("$@" 2>"$log/err" </dev/null | tr '\n' ' ' && cat "$log/err")
    [ "$got" = "$wanted " ] || [ "$got" = "$wanted" ]
    verdict "$what" $? "got: $got"
}

# expect_stdin WHAT INPUT WANTED COMMAND...: the same with INPUT (blanks as newlines) on standard input
expect_stdin() {
    what=$1 input=$2 wanted=$3
    shift 3
    got=$(printf '%s' "$input" | tr ' ' '\n' | "$@" 2>"$log/err" | tr '\n' ' ' && cat "$log/err")
    [ "$got" = "$wanted " ] || [ "$got" = "$wanted" ]
    verdict "$what" $? "got: $got"
}

# expect_error WHAT SENTENCE COMMAND...: status 2, SENTENCE within one line on standard error, no new file
expect_error() {
    what=$1 sentence=$2
    shift 2
    ls -A >"$log/before"
    "$@" >"$log/out" 2>"$log/err" </dev/null
    status=$?
    grep -q '^upsweep: ' "$log/err" && grep -qF -e "$sentence" "$log/err" && [ "$(wc -l <"$log/err")" -eq 1 ] && [ $status -eq 2 ]
    verdict "$what" $? "status $status: $(cat "$log/err")"
    ls -A | cmp -s - "$log/before"
    verdict "$what: leaves nothing" $? "$(ls -A)"
}

# ---- help, version, info, and what is wrong with a command line ----------------------------------------------------------------

for command in '' scan compact partition sort info demo profile; do
    "$tool" $command --help >help 2>err
    [ $? -eq 0 ] && grep -q '^Usage: upsweep' help && [ ! -s err ] && { [ -z "$command" ] || grep -q '^Exit status: 0 good' help; }
    verdict "$command --help" $?
    [ "$(awk 'length > 160' help)" = "" ]
    verdict "$command --help fits a terminal" $?
done
rm -f help err
expect_error 'no command' 'a command is missing' "$tool"
expect_error 'unknown command' "unknown command 'frobnicate'" "$tool" frobnicate
"$tool" --version | grep -q '^upsweep [0-9]*\.[0-9]*\.[0-9]*$'
verdict '--version' $?
"$tool" info | grep -q 'licence: MIT'
verdict 'info says the licence' $?
"$tool" info | grep -q 'backend cpu'
verdict 'info lists the CPU' $?
"$tool" info --json | grep -q '"devices": \['
verdict 'info --json' $?
# In a container with a quota; only root may stage one, and not everywhere.
quota='mount -t tmpfs none /sys/fs/cgroup && echo "50000 100000" >/sys/fs/cgroup/cpu.max'
if unshare -m sh -c "$quota" 2>/dev/null; then
    unshare -m sh -c "$quota && exec '$tool' info" | grep -q ', 1 hardware threads,'
    verdict 'info: threads by the quota of a container' $?
fi

printf '\001\000\000\000\002\000\000\000\003\000\000\000' >in
for command in scan compact partition sort; do
    expect_error "$command: unknown option" "$command: unknown option --frobnicate" "$tool" $command --frobnicate in
    expect_error "$command: unknown letter" "$command: unknown option -Z" "$tool" $command -Z in
    expect_error "$command: missing argument" 'needs an argument' "$tool" $command in --type
    expect_error "$command: argument too many" 'takes no argument' "$tool" $command --help=3 in
    expect_error "$command: operand too many" 'one argument too many: c' "$tool" $command a b c
    expect_error "$command: raw without a type" 'need --type' "$tool" $command in out
    expect_error "$command: unknown type" "'i33' is not one of" "$tool" $command -t i33 in out
    expect_error "$command: unknown format" "'xml' is none of" "$tool" $command -t i32 -f xml in out
    expect_error "$command: unknown output format" "'xml' is none of" "$tool" $command -t i32 --out-format xml in out
    expect_error "$command: no such file" 'absent: No such file' "$tool" $command -t i32 absent out
    expect_error "$command: an empty name" "'': No such file" "$tool" $command -t i32 '' out
    expect_error "$command: a directory as input" 'Is a directory' "$tool" $command -t i32 . out
    expect_error "$command: a directory as output" 'Is a directory' "$tool" $command -t i32 in .
    expect_error "$command: an absent directory" 'absent/out: No such file' "$tool" $command -t i32 in absent/out
    expect_error "$command: half an element" '12 bytes are not a whole number of elements of 8 bytes' "$tool" $command -t i64 in out
    expect_error "$command: unknown backend" 'upsweep: ' "$tool" $command -t i32 -b abacus in out
    expect_error "$command: no threads" 'whole number between 1 and' "$tool" $command -t i32 --threads 0 in out
    expect_error "$command: less than no threads" 'whole number between 1 and' "$tool" $command -t i32 --threads -1 in out
    expect_error "$command: chunk of nothing" 'out of range' "$tool" $command -t i32 --chunk 0 in out
    expect_error "$command: bad chunk" 'is not a size' "$tool" $command -t i32 --chunk 12Q in out
    expect_error "$command: huge chunk" 'out of range' "$tool" $command -t i32 --chunk 99999999T in out
    [ "$(env ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1 "$tool" $command -f text --chunk 8000000T \
        2>&1 </dev/null | grep -c 'out of memory')" -eq 1 ]
    verdict "$command: no memory for the chunk is said once" $?
done
expect_error 'info: an operand' 'one argument too many' "$tool" info in
for command in demo profile; do
    expect_error "$command: unknown option" "$command: unknown option --frobnicate" "$tool" $command --frobnicate
    expect_error "$command: unknown letter" "$command: unknown option -Z" "$tool" $command -Zh
    expect_error "$command: missing argument" 'option --size needs an argument' "$tool" $command -n
    expect_error "$command: no elements" 'whole number between 1 and' "$tool" $command --size 0
    for size in 8 48 2048 x; do
        expect_error "$command: blocks of $size threads" 'is not a power of two' "$tool" $command --block-size $size
    done
done
expect_error 'demo: an operand' 'one argument too many: in' "$tool" demo in
expect_error 'profile: an operand too many' 'one argument too many: scan' "$tool" profile naive scan
expect_error 'demo: unknown backend' "'abacus' is none of" "$tool" demo -b abacus
expect_error 'profile: unknown rung' "no rung named 'abacus'" "$tool" profile abacus
"$tool" profile --size 1000 'cpu scan' | grep -q '^cpu scan, 1000 elements'
verdict 'profile: a rung' $?
expect_error 'scan: an option of another command' 'unknown option --where' "$tool" scan --where nonzero -t i32 in
expect_error 'scan: unknown operator' "'div' is none of" "$tool" scan -t i32 --op div in out
expect_error 'scan: operator of integers' 'xor is for integers' "$tool" scan -t f32 --op xor in out
expect_error 'scan: init out of range' "'300' does not fit u8" "$tool" scan -t u8 --init 300 in out
expect_error 'scan: init no number' "'x' is not a whole number" "$tool" scan -t u8 --init x in out
for where in '' '=' '= 3' '>' '>= x' '== 3 4' 'nonzero 3' 'positive' '> 99999999999'; do
    expect_error "compact: --where '$where'" '--where: ' "$tool" compact -t i32 --where "$where" in out
done
expect_error 'compact: not-nan of integers' 'is for floats' "$tool" compact -t i32 --where not-nan in out
expect_error 'compact: comparing with nan' 'nothing compares with nan' "$tool" compact -t f32 --where '== nan' in out
expect_error 'compact: two conditions' 'only one of them' "$tool" compact -t i32 --where '> 1' --flags in in out
expect_error 'compact: flags and elements from one pipe' 'standard input already' "$tool" compact -t i32 --flags - - out
expect_error 'compact: records without flags' 'needs --flags' "$tool" compact --record-size 4 in out
expect_error 'compact: records with a type' 'records have no --type' "$tool" compact --record-size 4 --flags in -t i32 in out
expect_error 'compact: records too large' 'whole number between 1 and 4096' "$tool" compact --record-size 4097 --flags in in out
expect_error 'compact: records as text' 'can be written raw only' "$tool" compact --record-size 1 --flags in in out.txt
expect_error 'compact: index type without indices' 'needs --indices' "$tool" compact -t i32 --index-type u32 in out
expect_error 'compact: bad index type' 'neither u32 nor u64' "$tool" compact -t i32 --indices --index-type i32 in out
expect_error 'compact: count with OUT' 'there is no OUT' "$tool" compact -t i32 --count in out
expect_error 'partition: count without OUT' 'needs OUT' "$tool" partition -t i32 --count in
expect_error 'partition: count and rest' 'standard output already' "$tool" partition -t i32 --count --rest - in x.new
expect_error 'partition: both to standard output' 'standard output already' "$tool" partition -t i32 --rest - in
expect_error 'partition: both to one file' 'same file' "$tool" partition -t i32 --rest ./x.new in x.new
for bits in '' 3 3: :3 5:3 3:3 0:33 0x1:3 '1 :3' -1:3 1:3: 9999:3; do
    expect_error "sort: --bits '$bits'" '--bits: ' "$tool" sort -t i32 --bits "$bits" in out
done
expect_error 'sort: values without a size' 'need --value-size' "$tool" sort -t i32 --values in in out
expect_error 'sort: values too large' 'whole number between 1 and 4096' "$tool" sort -t i32 --values in --value-size 4097 in out
expect_error 'sort: values without a place' 'say --values-out' "$tool" sort -t i32 --values in --value-size 4 in
expect_error 'sort: two outputs in one file' 'the same file as OUT' "$tool" sort -t i32 --values in --value-size 4 --values-out out in out
expect_error 'sort: two outputs in one file by two names' 'the same file as OUT' \
    "$tool" sort -t i32 --values in --value-size 4 --values-out "../${PWD##*/}/out" in ./out
ln -s out out.values && : >out
expect_error 'sort: two outputs in one file by a link' 'the same file as OUT' "$tool" sort -t i32 --values in --value-size 4 in out
rm out out.values
expect_error 'sort: two outputs in one pipe' 'standard output already' "$tool" sort -t i32 --values in --value-size 4 --values-out - in
expect_error 'sort: two inputs from one pipe' 'standard input already' "$tool" sort -t i32 --values - --value-size 4 - out
expect_error 'sort: value size without values' 'needs --values' "$tool" sort -t i32 --value-size 4 in out
expect_error 'sort: place without values' 'needs --values' "$tool" sort -t i32 --values-out v in out
expect_error 'sort: argsort with values' 'only one of them' "$tool" sort -t i32 --argsort --values in --value-size 4 in out
for with in --argsort '--bits 0:2' '--values in --value-size 4'; do
    expect_error "sort: low memory and $with" 'low-memory: not with' "$tool" sort -t i32 --low-memory $with in out
done
expect_error 'sort: index type without argsort' 'needs --argsort' "$tool" sort -t i32 --index-type u32 in out

# ---- small data by hand ----------------------------------------------------------------------------------------------------------

expect_stdin 'scan' '3 1 7 0 4' '0 3 4 11 11' "$tool" scan -f text
expect_stdin 'scan, inclusive' '3 1 7 0 4' '3 4 11 11 15' "$tool" scan -f text --inclusive
expect_stdin 'scan, from 10' '3 1 7' '10 13 14' "$tool" scan -f text --init 10
expect_stdin 'scan, max' '3 1 7 0 4' '3 3 7 7 7' "$tool" scan -f text -o max -i
expect_stdin 'scan, wrapping' '200 100 1' '200 44 45' "$tool" scan -f text -t u8 -i
expect_stdin 'scan, floats' '0.5 0.25 -1' '0.5 0.75 -0.25' "$tool" scan -f text -t f32 -i
expect_stdin 'compact' '3 1 0 7 0 4' '3 1 7 4' "$tool" compact -f text
expect_stdin 'compact, negative constant' '3 -1 -5 7' '-5' "$tool" compact -f text --where '<-1'
expect_stdin 'compact, indices' '3 1 0 7 0 4' '0 1 3 5' "$tool" compact -f text --indices
expect_stdin 'compact, indices, chunks' '3 1 0 7 0 4' '0 1 3 5' "$tool" compact -f text --indices --chunk 16
expect_stdin 'compact, count' '3 1 0 7 0 4' '4' "$tool" compact -f text --count
printf '1\n2.5\n' >floats.txt
expect_error 'text of floats without a type' "line 2: '2.5' is not a whole number (for floats: --type f64)" "$tool" scan floats.txt
rm floats.txt
printf '0\n1\n0\n255\n' >flags.txt
expect_stdin 'compact, flags as text' '3 1 0 7' '1 7' "$tool" compact -f text --flags flags.txt
rm flags.txt
expect_stdin 'compact, not-nan' '1 nan -nan 2' '1 2' "$tool" compact -f text -t f64 --where not-nan
expect_stdin 'partition' '3 1 0 7 0 4' '3 7 4 1 0 0' "$tool" partition -f text --where '>= 3'
expect_stdin 'partition, chunks' '3 1 0 7 0 4' '3 7 4 1 0 0' "$tool" partition -f text --where '>= 3' --chunk 8
expect_stdin 'partition, rest in a file' '3 1 0 7 0 4' '3 7 4' "$tool" partition -f text --where '>= 3' --rest rest.txt
expect 'the rest' '1 0 0' cat rest.txt
expect_stdin 'partition, rest to standard output' '3 1 0 7 0 4' '1 0 0' "$tool" partition -f text --where '>= 3' --rest - --chunk 16 - kept.txt
expect 'the kept' '3 7 4' cat kept.txt
expect_stdin 'sort' '3 -1 0 7 0 4' '-1 0 0 3 4 7' "$tool" sort -f text
expect_stdin 'sort, descending' '3 -1 0 7 0 4' '7 4 3 0 0 -1' "$tool" sort -f text --descending
expect_stdin 'sort, low memory' '3 -1 0 7 0 4' '-1 0 0 3 4 7' "$tool" sort -f text --low-memory
expect_stdin 'sort, argsort' '3 -1 0 7 0 4' '1 2 4 0 5 3' "$tool" sort -f text --argsort
expect_stdin 'sort, bits' '18 33 17 34' '33 17 18 34' "$tool" sort -f text -t u8 --bits 0:2
expect_stdin 'sort, total order' '0 -0 nan -inf inf -nan' '-nan -inf -0 0 inf nan' "$tool" sort -f text -t f64
for backend in auto cpu cpu:1 cpu:3; do
    expect_stdin "scan on $backend" '3 1 7' '0 3 4' "$tool" scan -f text --backend $backend
done
expect_stdin 'scan with 2 threads' '3 1 7' '0 3 4' "$tool" scan -f text --threads 2

"$tool" scan -t i32 -i in out && [ "$(od -An -v -td4 out | tr -s ' ')" = ' 1 3 6' ]
verdict 'raw, little-endian' $?
"$tool" scan -t i32 -i in - | cmp -s - out
verdict '- is standard output' $?
"$tool" scan -t i32 -i <in | cmp -s - out
verdict 'standard input' $?
{ dd bs=4 count=1 of=/dev/null 2>/dev/null && "$tool" scan -t i32 -i; } <in | od -An -v -td4 | tr -s ' ' | grep -q '^ 2 5$'
verdict 'standard input from where it stands' $?
if [ "$(cat /proc/version 2>/dev/null)" ]; then # says that it has no bytes
    expect 'a file that does not tell its size' "$(wc -c </proc/version)" "$tool" compact -t u8 --where '>= 0' --count /proc/version
fi

# ---- more data, with awk as the reference, in one chunk and in many ----------------------------------------------------------------

awk 'BEGIN { for (i = 0; i < 20000; i++) { x = (x * 1103 + 12345) % 65536; print x - 32768 } }' >many.txt
awk '{ print s; s += $1 }' s=0 many.txt >scan.wanted
awk '$1 >= 1000' many.txt >compact.wanted
awk '$1 < 1000' many.txt | cat compact.wanted - >partition.wanted
sort -n many.txt >sort.wanted
sort -rn many.txt >sort-r.wanted
"$tool" compact --where '>= -32768' --out-format raw many.txt many.i64
od -An -v -td8 many.i64 | tr -s ' ' '\n' | sed 1d | cmp -s - many.txt
verdict 'text to raw, read by od' $?
for chunk in 8 1000 4K 16M; do
    "$tool" scan --chunk $chunk -t i64 --out-format text many.i64 | cmp -s - scan.wanted
    verdict "scan of many, chunk $chunk" $?
    "$tool" compact --chunk $chunk --where '>= 1000' -t i64 --out-format text many.i64 | cmp -s - compact.wanted
    verdict "compact of many, chunk $chunk" $?
    "$tool" partition --chunk $chunk --where '>= 1000' -t i64 --out-format text many.i64 | cmp -s - partition.wanted
    verdict "partition of many, chunk $chunk" $?
    "$tool" partition --chunk $chunk --where '>= 1000' -t i64 --rest rest.txt many.i64 large.txt && cat large.txt rest.txt | cmp -s - partition.wanted
    verdict "partition of many in two, chunk $chunk" $?
    "$tool" sort --chunk $chunk -t i64 --out-format text many.i64 | cmp -s - sort.wanted
    verdict "sort of many, chunk $chunk" $?
    cat many.i64 | "$tool" sort --chunk $chunk -t i64 -r --out-format text | cmp -s - sort-r.wanted
    verdict "sort of many from a pipe, chunk $chunk" $?
done

# In a container with little memory; staged as above.
memory='mount -t tmpfs none /sys/fs/cgroup && echo 100000 >/sys/fs/cgroup/memory.max'
if unshare -m sh -c "$memory" 2>/dev/null; then
    expect_error 'sort: a file larger than the memory' 'does not fit in memory' unshare -m sh -c "$memory && '$tool' sort -t i64 many.i64 sorted.out"
    expect_error 'sort: a pipe larger than the memory' 'does not fit in memory' unshare -m sh -c "$memory && cat many.i64 | '$tool' sort -t i64 - sorted.out"
fi

# ---- empty input --------------------------------------------------------------------------------------------------------------------

: >empty
for command in scan compact partition sort 'sort --argsort' 'compact --indices'; do
    for format in raw text; do
        "$tool" $command -t f32 -f $format empty empty.out && [ -f empty.out ] && [ ! -s empty.out ]
        verdict "$command of an empty $format file" $?
        rm -f empty.out
        [ "$("$tool" $command -t f32 -f $format </dev/null | wc -c)" -eq 0 ]
        verdict "$command of empty $format input" $?
    done
    "$tool" $command -t i32 empty empty.npy && "$tool" $command empty.npy empty-too.npy && cmp -s empty.npy empty-too.npy
    verdict "$command of an empty .npy file" $?
done
expect 'count of an empty file' 0 "$tool" compact -t i32 --count empty

# ---- output files: in place, permissions, links, devices -----------------------------------------------------------------------------

cp in same && "$tool" scan -t i32 -i same same && cmp -s same out
verdict 'IN and OUT the same file' $?
cp in same && "$tool" scan -t i32 -i - same <same && cmp -s same out
verdict 'the same through standard input' $?
cp in same
expect_error 'IN is standard output' 'both input and standard output' sh -c '"$1" scan -t i32 same >>same' sh "$tool"
(umask 027 && "$tool" scan -t i32 in mode.out) && [ "$(ls -l mode.out | cut -c1-10)" = '-rw-r-----' ]
verdict 'permissions as umask says' $?
chmod 604 mode.out && (umask 077 && "$tool" scan -t i32 in mode.out) && [ "$(ls -l mode.out | cut -c1-10)" = '-rw----r--' ]
verdict 'permissions of the file that was there' $?
mkdir -p sub && echo old >sub/target && ln -s sub/target link && "$tool" scan -t i32 -i in link && [ -h link ] && cmp -s sub/target out
verdict 'through a symbolic link' $?
ln -s absent nowhere
expect_error 'through a symbolic link to nothing' 'nowhere: is a symbolic link to nothing' "$tool" scan -t i32 in nowhere
"$tool" scan -t i32 in /dev/null
verdict 'to /dev/null' $?
mkfifo fifo
cat fifo >from-fifo &
"$tool" scan -t i32 -i in fifo && wait && cmp -s from-fifo out
verdict 'to a named pipe' $?
# Root may write to everything, so it becomes somebody who may not, if it can and that one can reach the tool.
nobody=
[ "$(id -u)" -ne 0 ] || nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
chmod a+x "$dir" "$work" && mkdir -m 777 shared && echo old >shared/protected && chmod 444 shared/protected && chmod a+r in
if [ -z "$nobody" ] || { $nobody test -w "$PWD/shared" && $nobody "$tool" --version >/dev/null; } 2>/dev/null; then
    expect_error 'a protected file' 'shared/protected: Permission denied' $nobody "$tool" scan -t i32 in shared/protected
    [ "$(ls -A shared)" = protected ] && [ "$(cat shared/protected)" = old ]
    verdict 'a protected file stays as it was' $?
fi
echo old >kept
printf '123' >odd
expect_error 'an output that exists stays' 'not a whole number' "$tool" scan -t i32 odd kept
[ "$(cat kept)" = old ]
verdict 'an output that exists stays as it was' $?

# ---- truncated input, full disks, closed pipes ----------------------------------------------------------------------------------------

expect_error 'a pipe that ends within an element' 'ends within element 0' sh -c 'printf 123 | "$1" scan -t i32 - out.new' sh "$tool"
if [ -w /dev/full ]; then
    for command in scan compact partition sort; do
        expect_error "$command: full disk" 'No space left' "$tool" $command -t i32 in /dev/full
        expect_error "$command: full standard output" 'standard output: No space left' sh -c '"$1" $2 -t i32 in >/dev/full' sh "$tool" $command
        expect_error "$command: full, as text" 'No space left' sh -c '"$1" $2 -t i32 --out-format text in >/dev/full' sh "$tool" $command
        expect_error "$command: full, as .npy" 'No space left' sh -c '"$1" $2 -t i32 --out-format npy in >/dev/full' sh "$tool" $command
    done
    for words in '--help' '--version' 'info' 'info --json' 'scan --help' 'compact -t i32 --count in'; do
        expect_error "$words: full standard output" 'standard output: No space left' sh -c '"$1" $2 >/dev/full' sh "$tool" "$words"
    done
fi
expect_error 'file too large' 'File too large' sh -c 'ulimit -f 8; "$1" scan -t i64 many.i64 large.out' sh "$tool"
expect_error 'spool too large' 'File too large' sh -c 'ulimit -f 8; "$1" partition --where "> 40000" -t i64 many.i64 large.out' sh "$tool"
expect_error 'no directory for the spool' 'No such file' env TMPDIR=/absent "$tool" partition -t i64 many.i64 large.out
expect_error 'closed standard output' 'standard output: Bad file descriptor' sh -c '"$1" scan -t i32 in >&-' sh "$tool"
expect_error 'closed standard output, text' 'standard output: Bad file descriptor' sh -c '"$1" info >&-' sh "$tool"
expect_error 'closed standard input' 'standard input: Bad file descriptor' sh -c '"$1" scan -t i32 - out.new <&-' sh "$tool"
for command in scan 'compact --where ==0' partition 'compact --indices --where ==0'; do # an endless input ends with its reader
    [ "$command" = partition ] && input=many.i64 || input=/dev/zero
    { "$tool" $command -t u8 $input 2>err; echo $? >status; } 2>/dev/null | dd bs=1 count=1 >/dev/null 2>&1
    [ "$(cat status)" -eq 2 ] && grep -q 'standard output: Broken pipe' err
    verdict "$command: closed pipe" $? "$(cat status err)"
done

# ---- signals ---------------------------------------------------------------------------------------------------------------------------

mkfifo endless && mkdir clean && echo old >clean/out
for sig in TERM HUP; do
    "$tool" scan -t u8 --chunk 4 endless clean/out 2>err &
    pid=$!
    exec 3<>endless # both ways: opening it does not wait for the tool
    printf 1234567890 >&3
    tries=0
    while [ "$(ls -A clean | wc -l)" -lt 2 ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    [ "$(ls -A clean | wc -l)" -eq 2 ]
    verdict "SIG$sig: there was a temporary file" $?
    kill -$sig $pid
    wait $pid 2>/dev/null
    [ $? -gt 128 ]
    verdict "SIG$sig: dies of it" $?
    exec 3>&-
    [ "$(ls -A clean)" = out ] && [ "$(cat clean/out)" = old ]
    verdict "SIG$sig: leaves nothing" $? "$(ls -A clean)"
done

# ---- the same and more against a second implementation ----------------------------------------------------------------------------------

if command -v python3 >/dev/null; then
    mkdir reference
    python3 "$here/tool/reference.py" "$tool" reference >reference.log
    sed '$d' reference.log
    last=$(tail -n 1 reference.log)
    case $last in
    *' passed, '*' failed')
        npassed=$((npassed + ${last%% *})) last=${last##*, }
        nfailed=$((nfailed + ${last%% *})) ;;
    *) verdict 'reference.py came to its end' 1 "$last" ;;
    esac
else
    echo 'no python3: the tests of tool/reference.py are left out'
fi

[ -z "$(find "$work" -name '.*upsweep-*')" ]
verdict 'no temporary file is left anywhere' $?
echo "$npassed passed, $nfailed failed"
[ $nfailed -eq 0 ]
