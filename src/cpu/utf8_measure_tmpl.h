/* utf8_measure_tmpl.h: what is in UTF-8, by long strides of well-formed text and, where there is none, by windows. A vector version defines
 * before it includes this
 *
 * is_ascii_256(p): are the 256 bytes at p ASCII?
 *
 * measure_well(p, nbytes, good): counts the sequences that begin, and those of four bytes that end, in the nbytes at p (64 or 256), or
 * returns false if something is wrong there; looks at three bytes before p.
 *
 * measure_well_within(in, i, n, good): the same for in [i, i + 64), or up to n; reads nothing beside in [n].
 *
 * window_ends(in, i, n): what ends in in [i, i + UTF8_OWNED), or up to n; likewise. */

static void measure_window(const uint8_t *in, size_t i, size_t n, struct utf8_good *good, struct utf8_bad *bad) {
    const uint64_t owned = utf8_owned(n - i);
    const struct utf8_ends ends = window_ends(in, i, n);
    good->sequences += popcount_64((ends.ascii | ends.of_2 | ends.of_3 | ends.of_4) & owned);
    good->of_4 += popcount_64(ends.of_4 & owned);
    utf8_take_bad(bad, &ends, owned, i);
}

/* Bytes of a well-formed sequence before in[i], which is one of its continuation bytes; 0 if it is none. */
static inline size_t bytes_begun(const uint8_t *in, size_t i, size_t n) {
    for (size_t back = 1; back <= 3 && back <= i; back++) {
        if (utf8_is_continuation(in[i - back])) continue;
        bool good;
        return utf8_sequence(in + i - back, n - i + back, &good) > back && good ? back : 0;
    }
    return 0;
}

/* Counts what is in in [i, n), sequences where they end, until something is wrong. Returns where that is: at the beginning of a sequence,
 * if it came any further than i. Begins where a sequence does, maybe before i: measure_well() looks no further back than for what the bytes
 * before it want, and ill-formed ones may want what is none of theirs; but not if a continuation byte that they want is missing. */
static size_t measure_good(const uint8_t *in, const size_t i, size_t n, struct utf8_good *good) {
    const size_t begun = utf8_is_continuation(in[i]) ? bytes_begun(in, i, n) : 0;
    if (utf8_is_continuation(in[i]) && begun == 0) return i;
    const size_t start = i - begun;
    size_t end = start;
    while (end < n) {
        const size_t left = n - end;
        if (left >= 256 && end > 3) {
            if (in[end - 1] < 0x80 && is_ascii_256(in + end))
                good->sequences += 256;
            else if (!measure_well(in + end, 256, good))
                break;
            end += 256;
        } else if (left >= 64 && end > 3) {
            if (!measure_well(in + end, 64, good)) break;
            end += 64;
        } else {
            if (!measure_well_within(in, end, n, good)) break;
            end += left < 64 ? left : 64;
        }
    }
    if (end == start) return i;
    const size_t nopen = utf8_open(in, end);
    good->sequences -= nopen > 0;
    return end - nopen;
}

/* Well-formed text in long strides; where that fails, a KiB of windows, so that garbage is seldom looked at twice. */
static struct utf8_good measure(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    enum { WINDOWS = 16 };
    struct utf8_good good = {0, 0};
    for (size_t i = 0; i < n;) {
        const size_t start = i;
        while (n - i >= 256 && is_ascii_256(in + i)) i += 256;
        good.sequences += i - start;
        if (i == n) break;
        i = measure_good(in, i, n, &good);
        for (int window = 0; window < WINDOWS && i < n; window++, i += UTF8_OWNED) measure_window(in, i, n, &good, bad);
    }
    return good;
}
