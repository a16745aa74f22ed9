#!/bin/sh
# Tests of `upsweep utf8`, from the outside: what it writes, what it says, and how it ends, with any size of chunk.
#
# usage: sh tests/test_utf8_tool.sh TOOL        closes with `N passed, N failed`
#
# Bytes are written in octal by printf and compared in hexadecimal by od, so that no locale has a say. Where python3 is found its codecs, a
# second implementation of the same replacement rule, check large mutated files.
set -u
tool=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
npassed=0 nfailed=0

verdict() { # WHAT STATUS [DETAIL]
    if [ "$2" -eq 0 ]; then
        npassed=$((npassed + 1))
    else
        nfailed=$((nfailed + 1))
        echo "FAILED: $1 ${3-}"
    fi
}

hex() { od -An -v -tx1 | tr -d ' \n'; }

# expect WHAT INPUT WANTED ARGUMENTS...: with INPUT (for printf) on a pipe, writes the bytes WANTED (hexadecimal), status 0
expect() {
    what=$1 input=$2 wanted=$3
    shift 3
    for chunk in 1 2 3 5 16M; do
        # shellcheck disable=SC2059
        got=$(printf "$input" | { "$tool" utf8 "$@" --chunk $chunk 2>err && echo good >status; } | hex)
        [ "$got" = "$wanted" ] && [ -e status ] && [ ! -s err ]
        verdict "$what, chunk $chunk" $? "got: $got $(cat err)"
        rm -f status
    done
}

# expect_status WHAT STATUS SENTENCE COMMAND...: ends so, and says SENTENCE within one line on standard error
expect_status() {
    what=$1 wanted=$2 sentence=$3
    shift 3
    "$@" >out 2>err </dev/null
    status=$?
    [ $status -eq "$wanted" ] && grep -qF -e "$sentence" err && [ "$(wc -l <err)" -eq 1 ]
    verdict "$what" $? "status $status: $(cat err)"
}

# ---- conversions: A, e acute, the euro sign, a grinning face; then damage -----------------------------------------------------------
mixed='A\303\251\342\202\254\360\237\230\200'
expect 'decode to utf32le' "$mixed" 41000000e9000000ac20000000f60100 decode
expect 'decode to utf16le' "$mixed" 4100e900ac203dd800de decode --to utf16le
expect 'decode to utf16be' "$mixed" 004100e920acd83dde00 decode --to utf16be
expect 'decode to utf8' "$mixed" 41c3a9e282acf09f9880 decode --to utf8
expect 'decode nothing' '' '' decode
expect 'encode utf32le' 'A\0\0\0\0\366\001\0' 41f09f9880 encode
expect 'encode utf16le' 'A\0\075\330\0\336' 41f09f9880 encode --from utf16le
expect 'encode utf16be' '\0A\330\075\336\0' 41f09f9880 encode --from utf16be
expect 'encode a lone surrogate' '\0A\330\075\0B' 41efbfbd42 encode --from utf16be
expect 'encode without a lone surrogate' '\0A\330\075' 41 encode --from utf16be --on-error remove
damaged='A\342\202B\200\360\237\230'
expect 'clean' "$damaged" 41efbfbd42efbfbdefbfbd decode --to utf8
expect 'clean by removal' "$damaged" 4142 decode --to utf8 -e remove
expect 'keep a byte order mark' '\357\273\277A' efbbbf41 decode --to utf8
expect 'skip a byte order mark' '\357\273\277A\357\273\277' 41efbbbf decode --to utf8 --skip-bom
expect 'count' "$mixed" 340a count
expect 'count damaged text' "$damaged" 350a count
expect 'validate' "$mixed" '' validate

# ---- errors and reports -------------------------------------------------------------------------------------------------------------
printf 'abc\300\257' >overlong
printf 'ab\355\240\200' >surrogate
printf 'abc\342\202' >short
printf 'a\200' >stray
printf 'a\364\220\200\200' >large
expect_status 'validate: overlong' 1 'upsweep: overlong: byte 3: overlong sequence' "$tool" utf8 validate overlong
expect_status 'validate: surrogate' 1 'surrogate: byte 2: surrogate' "$tool" utf8 validate surrogate
expect_status 'validate: too short' 1 'short: byte 3: sequence too short' "$tool" utf8 validate short
expect_status 'validate: stray' 1 'stray: byte 1: stray continuation byte' "$tool" utf8 validate --chunk 1 stray
expect_status 'validate: too large' 1 'large: byte 1: code point above U+10FFFF' "$tool" utf8 validate --chunk 2 large
expect_status 'strict' 1 'overlong: byte 3: overlong sequence' "$tool" utf8 decode --on-error strict --chunk 2 overlong made
[ ! -e made ]
verdict 'strict: no file is made' $?
printf 'A\0\0\330B\0' >lone
expect_status 'strict encode' 1 'lone: code unit 1: surrogate' "$tool" utf8 encode --from utf16le -e strict lone made
printf 'A\0B' >odd
expect_status 'an odd file' 2 'odd' "$tool" utf8 encode --from utf16le odd made
expect_status 'unknown action' 2 "'recode' is none of" "$tool" utf8 recode
expect_status 'no action' 2 'is missing' "$tool" utf8
expect_status 'unknown encoding' 2 "'latin1' is none of" "$tool" utf8 decode --to latin1 stray made
expect_status 'encode from utf8' 2 'decode --to utf8' "$tool" utf8 encode --from utf8 stray made
expect_status 'unknown mode' 2 "'ignore' is none of" "$tool" utf8 decode -e ignore stray made
expect_status 'validate has no OUT' 2 'one argument too many: made' "$tool" utf8 validate stray made
expect_status 'no such file' 2 'No such file' "$tool" utf8 count nowhere
printf "$damaged" >damaged
expect_status 'report' 0 'damaged: 8 bytes read, 5 code units written, 3 ill-formed sequences of 6 bytes; the first is at byte 1: sequence too short' \
    "$tool" utf8 decode --report --chunk 3 damaged made
expect_status 'report as JSON' 0 \
    '{"consumed": 8, "written": 5, "bad_sequences": 3, "bad_units": 6, "error_at": 1, "error": "sequence too short"}' \
    "$tool" utf8 decode --json damaged made
expect_status 'validate: JSON alone' 1 \
    '{"consumed": 5, "written": 0, "bad_sequences": 2, "bad_units": 2, "error_at": 3, "error": "overlong sequence"}' \
    "$tool" utf8 validate --json overlong
printf "$mixed" >good
expect_status 'report of good text' 0 '"bad_units": 0, "error_at": null, "error": null}' "$tool" utf8 validate --json good
cp damaged in_place
"$tool" utf8 decode --to utf8 in_place in_place && [ "$(hex <in_place)" = 41efbfbd42efbfbdefbfbd ]
verdict 'IN may be OUT' $?

# ---- large mutated files against Python ---------------------------------------------------------------------------------------------
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import random
random.seed(5)
kinds = ["abc xyz ", "na\u00efve \u00e9t\u00e9 ", "\u043f\u0440\u0438\u0432\u0435\u0442 ", "\u6f22\u5b57\u6587", "\U0001f600\U0001f680"]
text = bytearray("".join(random.choice(kinds) for _ in range(120000)).encode())
for _ in range(len(text) // 200): text[random.randrange(len(text))] = random.randrange(256)
open("mutated", "wb").write(text)
for name, codec in ("utf32le", "utf-32-le"), ("utf16le", "utf-16-le"), ("utf16be", "utf-16-be"), ("utf8", "utf-8"):
    for mode, python_mode in ("replace", "replace"), ("remove", "ignore"):
        open(f"{name}.{mode}", "wb").write(bytes(text).decode("utf-8", python_mode).encode(codec))
PYTHON
    for to in utf32le utf16le utf16be utf8; do
        for mode in replace remove; do
            for chunk in 4099 16M; do
                "$tool" utf8 decode --to $to --on-error $mode --chunk $chunk mutated got && cmp -s got $to.$mode
                verdict "python: decode to $to, $mode, chunk $chunk" $?
            done
            [ $to = utf8 ] || { "$tool" utf8 encode --from $to <got | cmp -s - utf8.$mode; }
            verdict "python: encode from $to, $mode" $?
        done
    done
else
    echo 'no python3: the comparison with its codecs is left out'
fi

echo "$npassed passed, $nfailed failed"
[ $nfailed -eq 0 ]
