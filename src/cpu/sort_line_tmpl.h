/* sort_line_tmpl.h: floats spread by their values, a part of sort_tmpl.h for keys alone that may be floats (REAL).
 *
 * The bits of floats that lie evenly between 0 and 1 are not even: half of them share an exponent. Their distance from the least one is. It
 * only has to keep the order, which subtraction, multiplication and conversion do, however they round; what comes to lie in one bucket
 * is sorted by its bits. Source: Knuth, TAOCP 3, 5.2.1 (address calculation); Dobosiewicz, Sorting by distributive partitioning, 1978. */

static inline REAL FN(real_of)(KEY raw) {
    REAL x;
    memcpy(&x, &raw, sizeof x);
    return x;
}

static inline void FN(line_digits)(int32_t digits[FN(stretch)], const struct sort_arrays *arrays, uint64_t begin, uint32_t n,
                                   const struct sort_line *line) {
    const REAL from = (REAL)line->from, scale = (REAL)line->scale, last = (REAL)line->last;
    for (uint32_t i = 0; i < n; i++) {
        REAL at = (FN(real_of)(FN(raw_at)(arrays, begin + i)) - from) * scale;
        at = at > 0 ? at : 0;
        at = at < last ? at : last;
        digits[i] = (int32_t)at;
    }
}

/* least, greatest: images. */
static bool FN(line_between)(struct sort_line *line, KEY least, KEY greatest, const struct sort_image *image, uint32_t bits) {
    const REAL from = FN(real_of)(FN(unconvert)(least, image)), to = FN(real_of)(FN(unconvert)(greatest, image));
    const REAL span = to - from;
    if (!__builtin_isfinite(span) || span == 0) return false;
    *line = (struct sort_line){from, (REAL)(1u << bits) / span, (1u << bits) - 1};
    return __builtin_isfinite(line->scale);
}

static bool FN(line)(struct sort_line *line, const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end,
                     uint64_t step, uint32_t bits) {
    KEY least = (KEY)-1, greatest = 0;
    for (uint64_t i = begin; i < end; i += step) {
        const KEY key = FN(key_at)(from, image, i);
        least = key < least ? key : least;
        greatest = key > greatest ? key : greatest;
    }
    return FN(line_between)(line, least, greatest, image, bits);
}

static inline REAL FN(distance)(const struct sort_arrays *sample, uint32_t i, uint32_t j) {
    const REAL distance = FN(real_of)(FN(raw_at)(sample, j)) - FN(real_of)(FN(raw_at)(sample, i));
    return distance < 0 ? -distance : distance;
}

/* In order either way. "Much": six times, as the middle of a normal distribution, or the dense end of an exponential one, is not. */
static enum sort_spread FN(line_spread)(const struct sort_arrays *sample, uint32_t n, uint32_t run) {
    const REAL span = FN(distance)(sample, 0, n - 1), least = span / (REAL)(6 * n / run), least_half = span / 16 * SORT_EVEN_HALF;
    bool skewed = false, even = true;
    for (uint32_t i = run - 1; i < n; i++) skewed |= !(FN(distance)(sample, i - (run - 1), i) > least); /* NaNs, infinities: true */
    for (uint32_t i = n / 2; i < n; i++) even &= FN(distance)(sample, i - n / 2, i) >= least_half;
    return skewed ? SORT_SKEWED : even ? SORT_EVEN : SORT_UNEVEN;
}

static bool FN(any_nan)(const struct sort_arrays *arrays, uint64_t begin, uint32_t n) {
    KEY any = 0;
    for (uint32_t i = 0; i < n; i++) {
        const REAL x = FN(real_of)(FN(raw_at)(arrays, begin + i));
        any |= (KEY)(x != x);
    }
    return any != 0;
}

/* The same as fill_blocks_by_digit, by line. Returns whether there are NaNs, which are in the wrong bucket then. */
static bool FN(fill_blocks_by_line)(FN(blocks) * b, const struct sort_split *s, uint64_t begin, uint64_t end) {
    int32_t digits[FN(stretch)];
    bool any_nan = false;
    for (uint64_t at = begin; at < end; at += FN(stretch)) {
        const uint32_t n = end - at < FN(stretch) ? (uint32_t)(end - at) : FN(stretch);
        FN(prefetch)(&s->from, at, end);
        FN(line_digits)(digits, &s->from, at, n, &s->line);
        any_nan |= FN(any_nan)(&s->from, at, n);
        FN(fill_blocks)(b, &s->from, at, n, digits);
    }
    return any_nan;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------------------ */

/* The line of a leaf's keys: false if there are other things than numbers. */
static bool FN(source_line)(const struct sort_leaf *leaf, uint32_t bits, struct sort_line *line) {
    struct sort_reader reader = {.source = &leaf->source};
    struct sort_piece piece;
    KEY least = (KEY)-1, greatest = 0;
    while (sort_next_piece(&reader, sizeof(FN(item)), &piece)) {
        for (uint32_t i = 0; i < piece.n; i++) {
            const KEY key = FN(key_at)(&piece.from, &leaf->image, piece.begin + i);
            least = key < least ? key : least;
            greatest = key > greatest ? key : greatest;
        }
    }
    return FN(line_between)(line, least, greatest, &leaf->image, bits);
}
