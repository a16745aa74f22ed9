/* sort_slots_tmpl.h: leaves of keys alone that are not counted first, a part of sort_tmpl.h.
 *
 * Keys that a network is to sort lie in buckets of some 8, and it has room for 16: so each bucket has 16 places of its own, and a key goes
 * to the next free one. What comes too late is spilled to a list.
 *
 *     keys 7 3 4 6 3 5 ...     bucket 0 [3 3 . .]  1 [7 4 6 5]  ...    spilled [4 5 ...]      (4 places, digit key / 4)
 *
 * The list is sorted by itself; its keys then stand in the order of the buckets. Cost: one read, where counting needs two, and a count of
 * a byte a bucket, which L1 can hold; the area is half empty, though. Evenly spread keys spill one in a thousand or less; if one in 32 is
 * spilled, the leaf goes by halves. */

struct FN(slots) {
    KEY *places;     /* [nbuckets][SORT_NETWORK_KEYS] */
    uint8_t *counts; /* [nbuckets], spilled keys included */
    KEY *spilled;    /* [most] */
    uint32_t nspilled, most;
    bool ahead; /* places are asked for */
};

/* False if there is no room, or if a bucket has more than its count can tell. */
static __attribute__((noinline)) bool FN(spill)(struct FN(slots) * slots, KEY key, uint32_t count) {
    if (slots->nspilled == slots->most || count == UINT8_MAX) return false;
    slots->spilled[slots->nspilled++] = key;
    return true;
}

/* Of evenly spread keys this is seldom the case. */
#define FULL(count) __builtin_expect((count) >= SORT_NETWORK_KEYS, 0)

/* False if too many are spilled. ahead: asks for the places of later keys; there are SORT_SLOTS_AHEAD more digits, of no meaning, then. */
ALWAYS_INLINE bool FN(fill_slots)(struct FN(slots) * slots, const KEY *images, const int32_t *digits, uint32_t n, bool ahead) {
    KEY *const places = slots->places;
    uint8_t *const counts = slots->counts;
    UNROLLED for (uint32_t i = 0; i < n; i++) {
        const uint32_t d = (uint32_t)digits[i], count = counts[d];
        if (ahead) __builtin_prefetch(places + (uint32_t)digits[i + SORT_SLOTS_AHEAD] * SORT_NETWORK_KEYS, 1);
        if (FULL(count) && !FN(spill)(slots, images[i], count)) return false;
        if (!FULL(count)) places[d * SORT_NETWORK_KEYS + count] = images[i];
        counts[d] = (uint8_t)(count + 1);
    }
    return true;
}

static __attribute__((noinline)) bool FN(fill_slots_ahead)(struct FN(slots) * slots, const KEY *images, const int32_t *digits, uint32_t n) {
    return FN(fill_slots)(slots, images, digits, n, true);
}

/* line: NULL to go by digit. */
ALWAYS_INLINE bool FN(piece_to_slots)(struct FN(slots) * slots, struct sort_piece piece, struct sort_image image, uint32_t shift,
                                      uint32_t mask, const struct sort_line *line) {
    KEY images[FN(stretch)];
    int32_t digits[FN(stretch) + SORT_SLOTS_AHEAD];
    for (uint32_t at = 0; at < piece.n; at += FN(stretch)) {
        const uint32_t n = piece.n - at < FN(stretch) ? piece.n - at : FN(stretch);
        FN(prefetch)(&piece.from, piece.begin + at, piece.begin + piece.n);
        for (uint32_t i = 0; i < n; i++) images[i] = FN(key_at)(&piece.from, &image, piece.begin + at + i);
        if (line != NULL)
            FN(line_digits)(digits, &piece.from, piece.begin + at, n, line);
        else
            for (uint32_t i = 0; i < n; i++) digits[i] = (int32_t)FN(digit)(images[i], shift, mask);
        memset(digits + n, 0, SORT_SLOTS_AHEAD * sizeof *digits);
        if (!(slots->ahead ? FN(fill_slots_ahead)(slots, images, digits, n) : FN(fill_slots)(slots, images, digits, n, false)))
            return false;
    }
    return true;
}
#undef FULL

/* Room for 2^bits buckets: false if the leaf has none, or if its keys are known to be uneven. */
static bool FN(open_slots)(struct FN(slots) * slots, const struct sort_leaf *leaf, uint32_t bits) {
    const uint64_t most = leaf->source.n / SORT_SPILLED_SHARE, nplaces = (uint64_t)SORT_NETWORK_KEYS << bits;
    if ((nplaces + most) * sizeof(KEY) > leaf->area_nbytes || UINT64_C(1) << bits > leaf->table_items * sizeof *leaf->table) return false;
    KEY *const places = (KEY *)(void *)leaf->area;
    *slots = (struct FN(slots)){places, (uint8_t *)leaf->table, places + nplaces, 0, (uint32_t)most, cpu_stores_wait()};
    memset(slots->counts, 0, (size_t)1 << bits);
    return true;
}

static void FN(finish_slots)(const struct sort_leaf *leaf, const struct FN(slots) * slots, uint32_t bits) {
    if (slots->nspilled > 0) {
        struct sorter images = *leaf->sorter;
        images.image = (struct sort_image){0, 0};
        images.out.keys = (unsigned char *)slots->spilled;
        images.benches = NULL;
        sort_exchange(&images, &images.out, 0, slots->nspilled, false);
    }
    leaf->vector->slots(leaf->to.keys + leaf->begin * sizeof(KEY), leaf->source.n, slots->places, slots->counts, 1u << bits, slots->spilled,
                        &leaf->image);
}

/* Sorts the leaf in slots, by line or, if that is NULL, by the digit: false, with nothing written, if there is no room or too many are
 * spilled. */
static bool FN(leaf_in_slots)(const struct sort_leaf *leaf, struct sort_digits digits, const struct sort_line *line) {
    const uint32_t shift = digits.high_shift, mask = (1u << digits.high_bits) - 1;
    const struct sort_image no_float = {leaf->image.flip, 0};
    struct sort_reader reader = {.source = &leaf->source};
    struct sort_piece piece;
    struct FN(slots) slots;
    if (!FN(open_slots)(&slots, leaf, digits.high_bits)) return false;
    while (sort_next_piece(&reader, sizeof(KEY), &piece)) {
        if (line != NULL                     ? !FN(piece_to_slots)(&slots, piece, leaf->image, 0, 0, line)
            : leaf->image.when_negative == 0 ? !FN(piece_to_slots)(&slots, piece, no_float, shift, mask, NULL)
                                             : !FN(piece_to_slots)(&slots, piece, leaf->image, shift, mask, NULL)) {
            leaf->bench->nvain++;
            return false;
        }
    }
    FN(finish_slots)(leaf, &slots, digits.high_bits);
    return true;
}

/* Floats by their values: false, with nothing written, if that is not possible. */
static bool FN(leaf_by_line)(const struct sort_leaf *leaf) {
    const struct sort_digits digits = {.high_bits = sort_network_bits(leaf->source.n)};
    struct sort_line line;
    return FN(source_line)(leaf, digits.high_bits, &line) && FN(leaf_in_slots)(leaf, digits, &line);
}

static bool FN(leaf_by_digit)(const struct sort_leaf *leaf, uint64_t mask) {
    const uint64_t varying = leaf->source.nlogs > 0 ? mask : FN(source_varying)(leaf) & mask; /* buckets are seldom alike in more bits */
    return varying != 0 && FN(leaf_in_slots)(leaf, sort_network_digits(varying, leaf->source.n), NULL);
}

/* Keys sorted whole: in slots or, if they lie unevenly, or are few and often, by halves. Slots that are given up take a third longer than
 * halves alone; so, when more than a quarter of the leaves has been, they are tried seldom. */
static void FN(leaf_by_vectors)(const struct sort_leaf *leaf, uint64_t mask) {
    const bool in_log = leaf->source.nlogs > 0;
    if (4 * leaf->bench->nvain <= leaf->bench->nleaves++) {
        if (leaf->by_line && FN(leaf_by_line)(leaf)) return;
        if (FN(leaf_by_digit)(leaf, mask)) return;
    }
    if (in_log) FN(unload)(&leaf->to, leaf->begin, &leaf->source);
    sort_exchange(leaf->sorter, in_log ? &leaf->to : &leaf->source.arrays, leaf->begin, leaf->source.n, true);
}
