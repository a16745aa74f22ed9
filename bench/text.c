/* text.c: texts to measure with: the same at every run, and like what people write where it matters to a decoder: how long the sequences
 * are, how they alternate, and that a branch cannot learn them.
 *
 * Words of random letters, drawn by their frequency in the language, with spaces, commas, full stops and line ends between them; Chinese
 * without spaces, characters by rank (a few hundred are most of a text), and with commas and full stops of its own; emoji in short rows
 * with spaces between, a tenth of them with a skin colour; mixed: words of all of these in turn. Bad: Chinese, one byte in a hundred
 * overwritten at random; random: nothing but random bytes. Texts are made in pieces of their own seed, on all cores, and no character
 * crosses from one into the next. Letter frequencies: https://en.wikipedia.org/wiki/Letter_frequency; of Russian: the Russian National
 * Corpus, as cited there. */
#include "bench.h"

#include <string.h>

enum { PIECE_NBYTES = 50000, TABLE_SIZE = 1024 };

/* ---- letters ----------------------------------------------------------------------------------------------------------------- */

struct letter {
    uint16_t code, per_10000;
};

static const struct letter english[] = {{'e', 1270}, {'t', 906}, {'a', 817}, {'o', 751}, {'i', 697}, {'n', 675}, {'s', 633}, {'h', 609},
                                        {'r', 599},  {'d', 425}, {'l', 403}, {'c', 278}, {'u', 276}, {'m', 241}, {'w', 236}, {'f', 223},
                                        {'g', 202},  {'y', 197}, {'p', 193}, {'b', 149}, {'v', 98},  {'k', 77},  {'j', 15},  {'x', 15}};
static const struct letter french[] = {{'e', 1472},
                                       {'s', 795},
                                       {'a', 764},
                                       {'i', 753},
                                       {'t', 724},
                                       {'n', 710},
                                       {'r', 669},
                                       {'u', 631},
                                       {'o', 580},
                                       {'l', 546},
                                       {'d', 367},
                                       {'c', 326},
                                       {'m', 297},
                                       {'p', 252},
                                       {'v', 184},
                                       {'q', 136},
                                       {'f', 107},
                                       {'b', 90},
                                       {'g', 87},
                                       {'h', 74},
                                       {'j', 61},
                                       {'x', 43},
                                       {'z', 33},
                                       {'y', 13},
                                       {0xE9, 190} /* e acute */,
                                       {0xE0, 49} /* a grave */,
                                       {0xE8, 27} /* e grave */,
                                       {0xEA, 22} /* e circumflex */,
                                       {0xE7, 9} /* c cedilla */,
                                       {0xF9, 6},
                                       {0xEE, 5},
                                       {0xF4, 5},
                                       {0xFB, 5},
                                       {0x153, 2} /* oe */};
/* from 0x430, the Cyrillic a, on: a be ve ghe ... */
static const uint16_t russian_per_10000[32] = {801, 159, 454, 170, 298, 849, 94, 165, 735, 121, 349, 440, 321, 670, 1097, 281,
                                               473, 547, 626, 262, 26,  97,  48, 144, 73,  36,  4,   190, 174, 32,  64,   201};

/* A letter for each 1024th of a text. */
static uint16_t tables[3][TABLE_SIZE];
enum { ENGLISH_LETTERS, FRENCH_LETTERS, RUSSIAN_LETTERS };

static void make_table(uint16_t table[TABLE_SIZE], const struct letter *letters, size_t nletters) {
    uint32_t sum = 0, done = 0, at = 0;
    for (size_t i = 0; i < nletters; i++) sum += letters[i].per_10000;
    for (size_t i = 0; i < nletters; i++) {
        done += letters[i].per_10000;
        for (; at * sum < done * TABLE_SIZE; at++) table[at] = letters[i].code;
    }
}

static void make_tables(void) {
    struct letter russian[32];
    if (tables[0][0] != 0) return;
    for (uint16_t i = 0; i < 32; i++) russian[i] = (struct letter){(uint16_t)(0x430 + i), russian_per_10000[i]};
    make_table(tables[ENGLISH_LETTERS], english, sizeof english / sizeof english[0]);
    make_table(tables[FRENCH_LETTERS], french, sizeof french / sizeof french[0]);
    make_table(tables[RUSSIAN_LETTERS], russian, 32);
}

/* ---- words ------------------------------------------------------------------------------------------------------------------- */

struct writer {
    uint8_t *at;
    size_t left; /* bytes, to the end of the piece */
    uint64_t seed, drawn;
    bool capital; /* a sentence begins */
};

static inline uint32_t draw(struct writer *w) { return (uint32_t)(random_at(w->seed, w->drawn++) >> 32); }

/* What does not fit is left out, and all after it: the piece is full. */
static void put(struct writer *w, uint32_t code) {
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (w->left < length) {
        memset(w->at, ' ', w->left);
        w->left = 0;
        return;
    }
    static const uint8_t tags[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6) w->at[i] = (uint8_t)(0x80 | (code & 0x3F));
    w->at[0] = (uint8_t)(tags[length] | code);
    w->at += length;
    w->left -= length;
}

static void put_word(struct writer *w, const uint16_t table[TABLE_SIZE]) {
    const uint32_t r = draw(w), length = 1 + r % 5 + (r >> 8) % 5;
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t code = table[draw(w) % TABLE_SIZE];
        const bool small = (code >= 'a' && code <= 'z') || (code >= 0xE0 && code <= 0xFE) || (code >= 0x430 && code <= 0x44F);
        put(w, w->capital && small && i == 0 ? code - 0x20 : code);
    }
    const uint32_t next = draw(w) % 100;
    w->capital = next < 6;
    if (next < 6) put(w, '.');
    if (next >= 6 && next < 14) put(w, ',');
    put(w, next == 0 ? '\n' : ' ');
}

static void put_clause_of_chinese(struct writer *w) {
    const uint32_t r = draw(w), length = 3 + r % 12;
    for (uint32_t i = 0; i < length; i++) {
        const double u = draw(w) * 0x1p-32; /* u^3: half of a text in an eighth of 3,500 characters */
        const uint32_t rank = (uint32_t)(3500 * u * u * u);
        put(w, 0x4E00 + rank * 7919 % 20902); /* ranks do not follow code points */
    }
    if (r >> 24 < 8) put(w, '0' + r % 10);
    put(w, r >> 28 < 5 ? 0x3002 /* full stop */ : 0xFF0C /* comma */);
    if (r >> 28 == 0) put(w, '\n');
}

static void put_emoji(struct writer *w) {
    const uint32_t length = 1 + draw(w) % 8;
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t r = draw(w), k = (r >> 8) % 0x2D0;
        put(w, k < 0x250 ? 0x1F400 + k : 0x1F680 + k - 0x250); /* animals to faces, vehicles */
        if (r % 10 == 0) put(w, 0x1F3FB + r / 10 % 5);         /* a skin colour */
    }
    put(w, ' ');
}

static void put_some(struct writer *w, enum distribution script) {
    static const enum distribution mix[] = {ASCII, FRENCH, RUSSIAN, CHINESE, EMOJI};
    switch (script) {
    case ASCII:
        put_word(w, tables[ENGLISH_LETTERS]);
        return;
    case FRENCH:
        put_word(w, tables[FRENCH_LETTERS]);
        return;
    case RUSSIAN:
        put_word(w, tables[RUSSIAN_LETTERS]);
        return;
    case EMOJI:
        put_emoji(w);
        return;
    case MIXED:
        put_some(w, mix[draw(w) % 5]);
        return;
    default:
        put_clause_of_chinese(w);
    }
}

/* ---- a text ------------------------------------------------------------------------------------------------------------------ */

struct text {
    uint8_t *out;
    uint64_t n;
    enum distribution script;
};

static void fill_piece(const struct text *text, uint64_t piece) {
    uint8_t *first = text->out + piece * PIECE_NBYTES;
    const uint64_t rest = text->n - piece * PIECE_NBYTES, nbytes = rest < PIECE_NBYTES ? rest : PIECE_NBYTES;
    struct writer w = {.at = first, .left = nbytes, .seed = random_at(piece, text->script), .capital = true};
    if (text->script == RANDOM) {
        for (uint64_t i = 0; i < nbytes; i++) first[i] = (uint8_t)draw(&w);
        return;
    }
    while (w.left > 0) put_some(&w, text->script);
    if (text->script != BAD) return;
    for (uint64_t i = 0; i < nbytes; i++) {
        const uint32_t r = draw(&w);
        if (r % 100 == 0) first[i] = (uint8_t)(r >> 24);
    }
}

static void fill_pieces(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    (void)block;
    for (uint64_t piece = first; piece < last; piece++) fill_piece(arg, piece);
}

void text_fill(uint8_t *out, uint64_t n, enum distribution script) {
    struct text text = {out, n, script};
    const uint64_t npieces = (n + PIECE_NBYTES - 1) / PIECE_NBYTES;
    const uint64_t size = 1 + npieces / MAX_BLOCKS; /* pieces in a block */
    const struct blocks blocks = {.n = npieces, .size = size, .count = (uint32_t)((npieces + size - 1) / size)};
    make_tables();
    blocks_run(&blocks, fill_pieces, &text);
}

struct units {
    void *units;
    uint64_t n;
    upsweep_encoding encoding;
    enum distribution script;
};

static void spoil(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    const struct units *u = arg;
    uint16_t *units16 = upsweep_encoding_nbytes(u->encoding) == 2 ? u->units : NULL;
    uint32_t *units32 = units16 == NULL ? u->units : NULL;
    (void)block;
    for (uint64_t i = first; i < last; i++) {
        const uint64_t r = random_at(u->n, i);
        if (u->script == BAD && r % 100 != 0) continue;
        const uint32_t unit = u->script == BAD ? 0xD800 + (uint32_t)(r >> 40) % 0x800 : (uint32_t)(r >> 40) % 0x180000;
        const uint32_t swapped = (unit & 0xFF) << 8 | (unit >> 8 & 0xFF);
        if (units16 != NULL) units16[i] = (uint16_t)(u->encoding == UPSWEEP_UTF16BE ? swapped : unit);
        if (units32 != NULL) units32[i] = unit;
    }
}

void text_spoil(void *units, uint64_t nunits, upsweep_encoding encoding, enum distribution script) {
    struct units u = {units, nunits, encoding, script};
    const struct blocks blocks = blocks_of(nunits);
    if (script == BAD || script == RANDOM) blocks_run(&blocks, spoil, &u);
}
