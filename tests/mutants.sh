#!/bin/sh
# mutants.sh: a test of the tests. Plants one known bug at a time into a copy of the sources, builds it, runs the test that should notice,
# and passes where that test fails.
#
#   sh tests/mutants.sh [--quick]        --quick: a quarter of the bugs, for CI
#
# A bug is a sed expression that must change exactly one line of one file: when the source has moved on, the script says so and fails,
# rather than plant nothing. Ends with `N passed, N failed`, where passed counts bugs that were caught. Takes some seconds a bug.
set -eu
quick=${1:-}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
passed=0
failed=0

# Only the CPU library and its tests, optimised a little: the tests are long, and unoptimised code is slow.
mkdir "$work/src"
cp -R "$root/CMakeLists.txt" "$root/cmake" "$root/include" "$root/src" "$root/tests" "$root/examples" "$work/src"
cmake -S "$work/src" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 -DUPSWEEP_CUDA=OFF -DUPSWEEP_BUILD_TOOL=OFF \
    -DUPSWEEP_WERROR=OFF >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

# run TEST: builds it and runs it to its first failure. A hang counts as a failure, a build that breaks as a mistake in the table.
run() {
    if ! cmake --build "$work/build" -j 2 --target "test_$1" >"$work/log" 2>&1; then
        cat "$work/log"
        echo "mutants.sh: the sources do not build"
        exit 1
    fi
    UPSWEEP_TEST_BACKENDS=cpu UPSWEEP_TEST_SCALE=quick UPSWEEP_TEST_FAIL_FAST=1 timeout 120 "$work/build/bin/test_$1" >"$work/log" 2>&1
}

# can_run FILE: has this machine the instruction set that the file is for? Its intrinsics say which, or its name, if it has none itself.
can_run() {
    case $(grep -o -m 1 '_mm512_\|_mm256_' "$root/$1" | head -n 1)$1 in
        _mm512_* | *sort_splitters*) grep -q avx512_vbmi2 /proc/cpuinfo ;;
        _mm256_* | *vector_mask* | *sort_slots* | *sort_network_* | *sort_tags_avx2* | *sort_items* | *sort_merge* | *sort_buckets* | *sort_part* | *sort_few*) grep -q avx2 /proc/cpuinfo ;;
    esac
}

# mutant LEVEL TEST FILE SED WHAT: LEVEL is quick (always planted) or full.
mutant() {
    if [ "$quick" = --quick ] && [ "$1" != quick ]; then return; fi
    can_run "$3" || return 0
    file=$work/src/$3
    cp -p "$file" "$work/whole"
    sed -e "$4" "$work/whole" >"$file"
    changed=$(diff "$work/whole" "$file" | grep -c '^>') || true
    if [ "$changed" -ne 1 ]; then
        echo "mutants.sh: $3 has $changed lines for $4 (\"$5\"), not 1"
        exit 1
    fi
    if run "$2"; then
        failed=$((failed + 1))
        echo "NOT caught by test_$2: $5"
    else
        passed=$((passed + 1))
        echo "caught by test_$2: $5"
    fi
    # Back to what was built without the bug, times and all: else the next build would begin by compiling this file once more.
    cp -p "$work/whole" "$file"
    rm -rf "$work/build"
    cp -Rp "$work/good" "$work/build"
}

# The sources as they are pass: otherwise every bug would be "caught".
for test in scan scan_floats compact sort errors nothing scratch open context utf8 utf8_exhaustive; do
    run $test || { cat "$work/log"; echo "mutants.sh: test_$test fails without a planted bug"; exit 1; }
done
cp -Rp "$work/build" "$work/good"

# ---- scan ----
mutant quick scan src/op.h '/define APPLY_MIN/s/|| IS_NAN(a) //' 'min forgets a NaN'
mutant full scan src/op.h '/define APPLY_MAX/s/>/>=/' 'max returns the earlier of two equal zeros'
mutant quick scan src/cpu/chain.c 's/policy->combine(chain->arg, carry, aggregate)/aggregate/' 'threads: a carry forgets the blocks before the last'
mutant full scan src/cpu/chain.c 's/if (block >= chain->nblocks) return;/if (block + 1 >= chain->nblocks \&\& chain->nblocks > 4) return;/' 'threads: the last block is left out'
mutant full scan src/cpu/chain.c 's/return chain.slots\[chain.nblocks % CHAIN_SLOTS\].carry/return carry/' 'threads: the total is the carry-in'
mutant quick scan_floats src/cpu/scan.c 's|args->n, CHAIN_BLOCK_NBYTES / elem_nbytes,|args->n, CHAIN_BLOCK_NBYTES / elem_nbytes / cpu_impl(ctx)->nthreads,|' 'float sums depend on the number of threads'
mutant full scan_floats src/cpu/apply_tmpl.h 's/return op == UPSWEEP_ADD ? a + b : a \* b;/return (double)(float)(op == UPSWEEP_ADD ? a + b : a * b);/' 'f32 sums lose small terms'
mutant full scan src/cpu/portable_tmpl.h 's/const T x = in\[i\];.*before it is.*/const T x = out == in ? (T)0 : in[i];/' 'an exclusive scan in place reads what it wrote'
mutant full scan src/cpu/vector_scan_tmpl.h 's/T total = FLOATING ? sum\[0\]/T total = !FLOATING ? sum[0]/' 'vectors: a block of integers counts one lane'
mutant full scan src/cpu/avx512_tmpl.h '/set_epi64(5, 5, 0, 0, 1, 1, 0, 0)/s/5, 5/7, 7/' 'AVX-512: 8-byte prefixes cross lanes wrongly'
mutant full nothing src/cpu/scan.c 's/args->init == NULL ? /args->init == NULL || args->n == 0 ? /' 'a total of nothing forgets the carry-in'

# ---- compact ----
mutant quick compact src/cpu/apply_tmpl.h '/case UPSWEEP_LE/,/return/s/x <= value/x < value/' '<= is <'
mutant full compact src/cpu/apply_tmpl.h 's/default: return x != value;.*/default: return x < value || x > value;/; /default:$/{n;s/return x != value;.*/return x < value || x > value;/}' 'a NaN is not kept by nonzero and ne'
mutant full compact src/cpu/compact.c 's/rejected_place_of(run, first - carry), total_rejected/rejected_place_of(run, first), total_rejected/' 'partition leaves holes among the rejected'
mutant full compact src/cpu/compact.c 's/rejected_place_of(run, first - carry), stage/rejected_place_of(run, first), stage/' 'threads: the second array has holes'
mutant full compact src/cpu/kernels.h 's/(n < room ? n : room) \/ 64/n \/ 64/' 'a partition runs past a side'
mutant full compact src/cpu/kernels.h 's/if (first < i) word = word >> i % 64 << i % 64;/;/' 'AVX2: items of whole groups are copied once more'
mutant full compact src/cpu/short_cuts.c 's|compact_items(kernels, a.nbytes, (unsigned char.*|;|' 'few elements: partition by bits forgets the rejected'
mutant full compact src/cpu/short_cuts.c 's|compact_records(rest, a.in.*|;|' 'few records: partition in two forgets the rejected'
mutant full compact src/cpu/simd_avx512.c 's/mask = word >> i \& there;/mask = word \& there;/' 'AVX-512: the last of few items go by the flags of those before'
mutant full compact src/cpu/simd_avx512.c 's/&rejected, x, mask ^ there);/\&rejected, x, ~mask);/' 'AVX-512: what lies behind few items goes to the rejected'
mutant full compact src/cpu/simd_avx2.c 's/rejected += nbytes \* compact_words/compact_words/' 'AVX2: the rejected of more than one round of flags lie at the start'
mutant full compact src/cpu/kernels_portable.c 's/if (rest != NULL) rejected += nbytes - step;/if (rest != NULL) rejected += nbytes;/' 'plain C: there are gaps between the few items that a flag rejects'
mutant full compact src/cpu/vector_mask_tmpl.h 's/kept_last = (uintptr_t)in - (uintptr_t)out < n \* NBYTES/kept_last = out == in/' 'partition in place overwrites what it has yet to read'
mutant full compact src/cpu/portable_tmpl.h 's/rest\[i - kept\] = x;/rest[i] = x;/' 'portable: the second array has holes'
mutant full compact src/cpu/short_cuts.c 's/rejected, (n - kept) \* a.nbytes);/rejected, kept * a.nbytes);/' 'few elements: partition copies as many rejected ones as were kept'
mutant full compact src/cpu/kernels_portable.c 's/index\[kept\] = (uint32_t)(base + i)/index[kept] = (uint32_t)i/' 'indices without their base'
mutant quick compact src/cpu/simd_avx2.c 's/_mm256_storeu_si256((__m256i \*)\*end, _mm256_add_epi64(/_mm256_storeu_si256((__m256i *)(*end + (mask == 15)), _mm256_add_epi64(/' 'AVX2: a store past the end'
mutant full compact src/cpu/avx2_tmpl.h 's/ >> (VEC_NBYTES \/ NBYTES - n)//' 'AVX2: the last items have the bits of what is before them in the register'
mutant full compact src/cpu/simd_avx2.c 's/ \&\& (size_t)(limit - end) >= group \* nbytes//' 'AVX2: a group runs past a side'
mutant full compact src/cpu/simd_avx512.c 's/\*end += nbytes \* (size_t)_mm_popcnt_u64(mask);/*end += nbytes * (size_t)_mm_popcnt_u64(mask \& 0x7fff);/' 'AVX-512: the last of 16 items is overwritten'
mutant full compact src/cpu/simd_avx512.c 's/ \&\& (size_t)(limit - end) >= 64 \* nbytes//' 'AVX-512: a full vector runs past a side'
mutant full compact src/cpu/simd_avx512.c 's/end, x, bits\[i \/ 64\] >> i % 64/end, x, bits[i \/ 64]/' 'AVX-512: the last items go by the bits of those before'
mutant full compact src/cpu/simd_avx512.c 's/compress_first(nbytes, &end, index, bits\[i \/ 64\] >> i % 64/compress_first(nbytes, \&end, index, bits[i \/ 64]/' 'AVX-512: the last indices go by the bits of those before'
mutant full compact src/cpu/kernels.h 's/if (n % 64 != 0) bits\[n \/ 64\] ^=/if (n % 64 > 1) bits[n \/ 64] ^=/' 'partition loses a last item'

# ---- sort ----
mutant quick sort src/cpu/sort_leaf_tmpl.h 's/(sorted\[j - 1\].key \& (KEY)mask) > /(sorted[j - 1].key \& (KEY)mask) >= /' 'insertion is not stable'
mutant full sort src/cpu/sort_run.c 's/if (sort_bit_top(join_varying(job)) <= top) return true;/return true;/' 'a digit above the guessed one is ignored'
mutant full sort src/cpu/sort_at_once.c 's/image.flip ^= keys_of\[type\].all/image.flip ^= keys_of[type].all >> 1/' 'descending spares the sign'
mutant full sort src/cpu/sort_at_once.c 's/define NEGATIVE_FLOAT(ctype) .*/define NEGATIVE_FLOAT(ctype) 0/' 'negative floats sort backwards'
mutant full sort src/cpu/sort_network_tmpl.h 's/LANES == 16 || n <= 16/LANES == 16 || n <= 17/' 'vectors: the last of 17 keys of one byte is not sorted in'
mutant full sort src/cpu/sort_network_tmpl.h 's/v = FN(stage)(v, 7, 4);/v = FN(stage)(v, 6, 4);/' 'vectors: the network pairs the wrong lanes'
mutant full sort src/cpu/sort_buckets_tmpl.h 's/if (counts\[i\] <= SORT_NETWORK_KEYS) continue;/if (counts[i] <= SORT_NETWORK_KEYS + 1) continue;/' 'vectors: buckets of 17 keys stay in disorder'
mutant quick sort src/cpu/sort_buckets_tmpl.h 's/spilled += nspilled;/spilled += nspilled \& 1;/' 'vectors: spilled keys are sorted into other buckets'
mutant full sort src/cpu/sort_slots_tmpl.h 's/ || count == UINT8_MAX) return false;/) return false;/' 'vectors: a bucket of 256 keys counts as an empty one'
mutant quick sort src/cpu/sort_merge_tmpl.h 's/apart < end; i +=/apart + 1 < end; i +=/' 'vectors: the last register of a long merge is left out'
mutant full sort src/cpu/sort_merge_tmpl.h 's/for (uint32_t r = run; r < end; r++)/for (uint32_t r = run; r + 1 < end; r++)/' 'vectors: the last register of a merge is not compared'
mutant full sort src/cpu/sort_pairs_tmpl.h 's/narrow = shift < 32 ? sort_pairs_most(shift + 32) : 0/narrow = longest/' 'AVX-512: tags of 32 bits lose bits in which pairs differ'
mutant quick sort src/cpu/sort_pairs_tmpl.h 's/length, _mm512_set1_epi32(SORT_NETWORK_KEYS))/length, _mm512_set1_epi32(SORT_NETWORK_KEYS + 1))/' 'AVX-512: buckets of 17 pairs stay in disorder'
mutant full sort src/cpu/sort_line_tmpl.h 's/any |= (KEY)(x != x);/any |= (KEY)(x < x);/' 'NaNs that the sample missed are spread by value'
mutant full sort src/cpu/sort_exchange.c 's/if (p.n == 1 || p.least/if (p.n <= 2 || p.least/' 'exchange: parts of two keys stay as they are'
mutant full sort src/cpu/sort_exchange.c 's/halves.out.keys = to;/;/' 'vectors: a part that does not fit slots is sorted elsewhere'
mutant full sort src/cpu/sort_exchange.c 's/when_negative : 0), 0};/when_negative \& 1 : 0), 0};/' 'exchange: negative floats are divided the wrong way round'
mutant quick sort src/cpu/sort_exchange.c 's/const uint64_t until = high ? min_u64(end, t->nlow) : middle;/const uint64_t until = high ? min_u64(end, t->nlow) : middle - (middle > start);/' 'exchange by threads: a misplaced key stays'
mutant full sort src/cpu/sort_part_tmpl.h 's/left < LANES ? left : LANES, image/left < LANES ? left - (left == 1) : LANES, image/' 'vectors: exchange loses a key of the rest'
mutant full sort src/cpu/sort_part_tmpl.h 's/here, 0), here, image/here, 0), here - (here == 1), image/' 'vectors: exchange from the input loses a key of the rest'
mutant full sort src/cpu/sort_part_tmpl.h 's/= low - to <= FN(turn);/= low - to <= 2 * FN(turn);/' 'vectors: exchange writes where it has yet to read'
mutant quick sort src/cpu/sort_few_tmpl.h 's/if (i == SORT_FEW_VALUES) return false;/if (i == SORT_FEW_VALUES) return true;/' 'vectors: keys of a value too many are lost'
mutant full sort src/cpu/sort_few_tmpl.h 's/return at == n || FN(count_turn)/return true || FN(count_turn)/' 'vectors: the last keys of few values are not counted'
mutant full sort src/cpu/sort_few_tmpl.h 's/(end + nequal, n - nequal, /(end + nequal, (n - nequal) \& ~1u, /' 'vectors: the last of equal keys is not written'
mutant quick sort src/cpu/sort_heavy_tmpl.h 's/end -= nrest - nbelow;/end -= nrest - nbelow + (nbelow == 0);/' 'AVX-512: the last keys below the least heavy one lie a place too low'
mutant full sort src/cpu/sort_heavy_tmpl.h 's/const MASK rest = (MASK)(lanes \& ~any\[r\]);/const MASK rest = (MASK)~any[r];/' 'AVX-512: what is behind the last key is taken for a key that is not heavy'
mutant quick sort src/cpu/sort_two_bytes.c 's/    counts->low\[key\] = 1;/    counts->low[key] = 0;/' 'AVX-512: a counter that overflows loses a key'
mutant full sort src/cpu/sort_two_bytes.c 's/_mm512_set1_epi8(4)) != 0)/_mm512_set1_epi8(5)) != 0)/' 'AVX-512: a key that is there five times has four places'
mutant full sort src/cpu/sort_two_bytes.c 's/else if (end - to >= ROOM)/else if (end - to >= LANES)/' 'AVX-512: places are written behind the output'
mutant full sort src/cpu/sort_splitters.c 's/const uint32_t bits = least == greatest/const uint32_t bits = least + 1 >= greatest/' 'AVX-512: buckets of two keys between splitters stay in disorder'
mutant full sort src/cpu/sort_splitters_tmpl.h 's/+ FN(row) - 1\]/+ FN(row) - 2]/' 'AVX-512: a key above the last but one splitter of a row goes to the next row'
mutant full sort src/cpu/sort_tmpl.h 's/stays \&\& !alike ?/stays \&\& alike ?/' 'equal keys change places with their values'
mutant full sort src/cpu/sort_tmpl.h 's/i = until;/i = until + 1;/' 'falling keys: a tie at the end of a stretch is overlooked'
mutant full sort src/cpu/sort_kernels.h 's/return a->keys != b->keys \&\& (a->values == NULL || a->values != b->values);/return a->keys != b->keys || a->values == NULL;/' 'one digit overwrites what is yet to be read'
mutant full sort src/cpu/sort_network.c 's/_mm512_shrdi_epi32(x, y, 16)/_mm512_shrdi_epi32(x, x, 16)/' 'AVX-512: keys of two bytes are lost where they are merged'
mutant full sort src/cpu/sort_network.c 's/_mm512_shrdi_epi16(x, y, 8);/_mm512_shrdi_epi16(x, x, 8);/' 'AVX-512: keys of one byte are lost where they are merged'
mutant full sort src/cpu/sort_network.c 's/n - first < 64 ? n - first : 64/n - first/' 'AVX-512: keys of one byte, of which more than 255 follow, are not there'
mutant quick sort src/cpu/sort_network_tmpl.h 's/\*b = exchange_bytes(upper_from(\*b, low, half), half);/*b = exchange_bytes(*b, half);/' 'AVX2: the lower half of a merge is lost'
mutant full sort src/cpu/sort_network_avx2.c 's/0x0706030201000504/0x0706030205040100/' 'AVX2: of four keys, the first goes for the third'
mutant full sort src/cpu/sort_network_avx2.c 's/_mm256_srli_epi16(x, 8), y, 1)/_mm256_srli_epi16(x, 8), x, 1)/' 'AVX2: keys of one byte are lost where they are merged'
mutant full sort src/cpu/sort_exchange.c 's/p->greatest = p->least | below;/p->greatest = p->least | below >> 1;/' 'exchange: keys above the middle of their range have no place'
mutant full sort src/cpu/sort_count.c 's/if (begin >= end) return;/if (begin >= end--) return;/' 'counting sort leaves a gap'
mutant full sort src/cpu/sort_count.c 's/i = COPIES; i < count;/i = COPIES; i + 1 < count;/' 'counting sort leaves a gap where there is one key more than is always written'
mutant full sort src/cpu/sort_count.c 's/starts\[block + 1\] + COPIES <= end/starts[block + 1] <= end/' 'counting sort writes behind the output'

mutant full sort src/cpu/sort_ranks.c 's/before = images\[i\] < images\[j\]/before = images[i] <= images[j]/' 'plain C: few pairs with equal keys change places'
mutant full sort src/cpu/sort_places.h 's/if (out == in) in = memcpy/if (out == NULL) in = memcpy/' 'few pairs in place overwrite what is yet to be moved'
mutant full sort src/cpu/sort_places.h 's/sort_place_items(out, in, places, n, 16, direction)/sort_place_items(out, in, places, n, 8, direction)/' 'of values of 16 bytes, few pairs move the first half'
mutant full sort src/cpu/sort_tag_items.h 's/_mm512_set1_epi32((int)p \* 16)/_mm512_set1_epi32((int)p * 8)/' 'AVX-512: words come from the wrong registers'
mutant full sort src/cpu/sort_tag_items.h 's/_mm512_or_si512(even, _mm512_set1_epi32(1))/even/' 'AVX-512: few items of 8 bytes have their lower half twice'
mutant full sort src/cpu/sort_tag_items.h 's/(__mmask8)lanes_of(t, 8, t->n, 2 \* r + 1)/(__mmask8)lanes_of(t, 8, t->n, 2 * r)/' 'AVX-512: indices are written behind their array'
mutant quick sort src/cpu/sort_tags.h 's/            insert_ties(\*t);/            ;/' 'AVX-512: a few keys that differ only in bits for which their tags have no room stay in disorder'
mutant full sort src/cpu/sort_tags.h 's/if (order_of(t, sorted) == SORT_ASCENDING) return;/return;/' 'AVX-512: more such keys stay in disorder'
mutant full sort src/cpu/sort_tags.h 's/_mm512_sll_epi32(tie, above_image)/_mm512_setzero_si512()/' 'AVX-512: such keys are sorted among those that they are not tied with'
mutant full sort src/cpu/sort_tags.h 's/_mm512_alignr_epi32(tags, before, 15)/_mm512_alignr_epi32(tags, tags, 15)/' 'AVX-512: so are those whose tie has begun in the register before'
mutant full sort src/cpu/sort_tags.h 's/r < t->nregisters; r++) nties/r + 1 < t->nregisters; r++) nties/' 'AVX-512: the last tags are not looked at for such keys'
mutant full sort src/cpu/sort_tags.h 's/make_tie_tags(t, sorted, low, top);/make_tie_tags(t, sorted, low + 1, top);/' 'AVX-512: keys are sorted by all bits but one'
mutant full sort src/cpu/sort_tags.h 's/lanes_of(t, t->image_nbytes, t->n - 1, r)/lanes_of(t, t->image_nbytes, t->n - 2, r)/' 'AVX-512: keys seem in order whatever the last is'
mutant full sort src/cpu/sort_tags.h 's/_mm512_cmpgt_epu32_mask(v, next))/_mm512_cmpge_epu32_mask(v, next))/' 'AVX-512: equal ones of keys that fall are turned round'
mutant full sort src/cpu/sort_tags.h 's/if (falls != (there \& all)) return SORT_MIXED;/if (falls != 0 \&\& falls != there) return SORT_MIXED;/' 'AVX-512: keys seem in order if each register is'
mutant quick sort src/cpu/sort_tags_avx2.c 's/            nmoved += insert_tie(places, images, first, i);.*$/            ;\\/' 'AVX2: keys that differ only in bits for which their tags have no room stay in disorder'
mutant quick sort src/cpu/sort_tags_avx2.c 's/<< place_bits | i;/<< place_bits | (n - 1 - i);/' 'AVX2: equal keys are turned round'
mutant quick sort src/cpu/sort_tags_avx2.c 's/(images\[i\] < images\[i - 1\]) != falls/(images[i] <= images[i - 1]) != falls/' 'AVX2: equal ones of keys that fall are turned round'
mutant quick sort src/cpu/sort_tags_avx2.c 's/if (nother > 0) return/if (nother > 1) return/' 'AVX2: keys seem in order though one is not'
mutant quick sort src/cpu/sort_items.c 's/<< 32 | i;/<< 32 | (i ^ 1);/' 'AVX2: indices of neighbours change places'
mutant full sort src/cpu/sort_items.c 's/(when_negative & (0u - (raw >> 31)))/0/' 'AVX2: indices of negative floats fall'
mutant full sort src/cpu/sort_network_tmpl.h 's/LANES == 4 || n <= 4/LANES == 4 || n <= 5/' 'vectors: five keys are sorted as four'
mutant full sort src/cpu/sort_network_tmpl.h 's/v\[r\] = SELECT(SPLAT(-1), FN(lanes_of)(n, r), FN(convert)(v\[r\], image));/v[r] = FN(convert)(v[r], image);/' 'vectors: what is behind a few keys is sorted among them'

# ---- arguments and contexts ----
mutant quick errors src/check.h 's/a_end <= b_start || b_end <= a_start/a_end <= b_start || b_start <= a_start/' 'overlap from one side passes'
mutant full errors src/api.c 's/TRY(check_apart(ctx, out, rest, false));/;/' 'two outputs that overlap pass'
mutant full errors src/api.c 's/return check_apart(ctx, map, in, false);/return UPSWEEP_OK;/' 'a map that overlaps the text passes'
mutant full errors src/check.h 's/if (__builtin_mul_overflow(a.n, a.elem_nbytes, \&nbytes) ||/if ((nbytes = a.n * a.elem_nbytes, false) ||/' 'a size that overflows passes'
mutant full errors src/check.c 's/n > 0 \&\& (base > highest || n - 1 > highest - base)/n > 0 \&\& base + (n - 1) > highest/' 'a base that overflows passes'
mutant full compact src/check.c 's/value >= -highest - 1/value >= -highest/' 'the least constant of a type is refused'
mutant full scratch src/cpu/compact.c 's/split ? 2 : 1, ntasks) \* ntasks; /split ? 2 : 1, ntasks); /' 'scratch for one thread only'
mutant quick open src/context.c 's/if (!ctx->scratch_is_callers) ctx->backend->free/if (ctx->scratch_is_callers) ctx->backend->free/' 'scratch leaks'
mutant full open src/cpu/backend.c 's/if (impl == NULL) return context_fail/if (impl == NULL \&\& index > 0) return context_fail/' 'a failed allocation is not noticed'
mutant quick context src/cpu/threads.c 's/return pool != NULL \&\& pool->process == getpid();/return pool != NULL;/' 'a forked child waits for threads of its parent'
mutant full context src/context.c 's/to->size = size;/to->size = sizeof *from;/' 'the size of the struct of a caller changes'
mutant full open src/cpu/backend.c 's/if (index >= 0 \&\& wanted != 0 \&\& wanted != index)/if (index > 0 \&\& wanted > index)/' 'fewer threads than the name asks for pass'

# ---- UTF-8 ----
mutant full utf8_exhaustive src/cpu/utf8_rules.h '/lowest = lead/s/0xA0/0x80/' 'overlong sequences of three bytes are good'
mutant full errors src/cpu/short_cuts.c 's/ \&\& (out == in || is_apart(out, nbytes, in, nbytes));/;/' 'few elements: an overlap passes'
mutant full errors src/cpu/short_cuts.c 's/(uint32_t)op > types\[type\].last_op/(uint32_t)op >= UPSWEEP_OP_COUNT/' 'few elements: floats have bit operators'
mutant full errors src/cpu/short_cuts.c 's/return to->value.u + types\[type\].offset <= types\[type\].most;/return true;/' 'few elements: a constant that does not fit passes'
mutant full errors src/cpu/short_cuts.c 's/ \&\& is_apart(out, all, rest, all)));/));/' 'few elements: two outputs that overlap pass'
mutant full errors src/cpu/short_cuts.c 's/ || !is_apart(a->values_out, values, a->keys_in, keys)) return false;/) return false;/' 'few pairs: values go where the keys are'
mutant full errors src/cpu/short_cuts.c 's/if (!is_array(a->keys_out, keys, key_nbytes) || /if (/' 'few pairs: any place passes for keys'
mutant full errors src/cpu/short_cuts.c 's/ || a->low_memory) return false;/) return false;/' 'few pairs: low memory passes'
mutant full scratch src/cpu/short_cuts.c 's/ || a.nbytes - 1 >= FEW_NBYTES || ctx->scratch_is_callers) return false;/ || a.nbytes - 1 >= FEW_NBYTES) return false;/' 'few elements: they pass in the scratch that was given'
mutant full utf8 src/cpu/short_cuts.c 's/capacity - most > UINT32_MAX/capacity > UINT32_MAX/' 'few code units: written where there is no room'
mutant full utf8 src/cpu/short_cuts.c 's/on_error == UPSWEEP_STRICT \&\& bad->first != SIZE_MAX, 0/false, 0/' 'few code units: strict goes on behind an error'
mutant full utf8 src/cpu/utf8_avx2.c 's/UINT32_MAX, ~last_bits(n), to/UINT32_MAX, ~last_bits(n) >> 1, to/' 'AVX2: the last row of a short text is written a byte further on'
mutant full utf8 src/cpu/utf8_measure_edge_tmpl.h 's/good->sequences -= 64 - there;/good->sequences -= 63 - there;/' 'the zeros behind a text count as characters'
mutant quick utf8_exhaustive src/cpu/utf8_rules.h 's/ | (wanted & ~there)//' 'vectors: a sequence cut off before the window is good'
mutant full utf8 src/cpu/utf8_avx512.c 's/\*wrong = _mm512_or_si512(\*wrong, begun_at_end(w.b));/;/' 'AVX-512: a text of some rows may end within a sequence'
mutant full utf8 src/cpu/utf8_avx512.c 's/is_ascii_64(w->b) \&\& (before == NULL || \*before < 0x80)/is_ascii_64(w->b)/' 'AVX-512: a sequence may end where ASCII begins'
mutant quick utf8 src/cpu/utf8_avx512.c 's/nopen == 3) end -= /nopen == 4) end -= /' 'AVX-512: a high surrogate is written twice'
mutant full utf8 src/cpu/utf8_avx512.c 's/= utf8_open(in, \*at);/= 0;/' 'AVX-512: what is cut off before a group is lost'
mutant full utf8 src/cpu/utf8_avx512.c 's/in, i, true, replace/in, i, false, replace/' 'AVX-512: a full vector is stored past the room'
mutant full utf8 src/cpu/utf8_avx512.c 's/if (n > 192) rest = .*/;/' 'AVX-512: the third row of a short text counts as ASCII'
mutant full utf8 src/cpu/utf8_avx512_measure.c 's/_mm512_or_si512(s->wrong, begun_at_end(w->b))/s->wrong/' 'AVX-512: a text of 64 bytes may end within a sequence'
mutant full utf8 src/cpu/utf8_rules.h 's/> back ? start : at/> back ? at : at/' 'pieces are cut within a sequence'
mutant full utf8 src/cpu/utf8_portable.c 's/at - \*i == 3 ? k - 1 : k/k/' 'plain C: a high surrogate is written twice'
mutant quick utf8 src/cpu/utf8.c 's|run->most == 3 ? room / 3|run->most == 3 ? room / 2|' 'more is converted than the room is sure to hold'
mutant full utf8 src/cpu/utf8_avx512_units.h 's/_mm512_mask_sub_epi8(prefix, borrow, prefix, bytes_of(0x01))/prefix/' 'AVX-512: high surrogates lose a borrow'
mutant full utf8 src/cpu/utf8.c 's/if (args->more) run.n -= .*/if (args->more) run.n -= 0;/' 'an unfinished sequence is not held back'
mutant full utf8 src/cpu/utf8_measure_tmpl.h 's/    const size_t start = i - begun;/    const size_t start = i;/' 'vectors: a stray byte after garbage counts as good'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
