#!/usr/bin/env python3
"""Draws each algorithm at work on eight elements, as SVG, for docs/scan.md, docs/compact.md, docs/sort.md and docs/utf8.md.

    python3 bench/draw.py [--out docs/img]

The algorithms really run here, and the pictures show what they did: the values in the cells are computed, and the last row is compared with
the definition. Needs nothing but Python.
"""
import argparse
import os

CELL, ROW, LEFT, TOP = 46, 62, 150, 16
INK, FAINT, WRITTEN, KEPT, DEAD = "#202020", "#A0A0A0", "#FBE3D0", "#D6EAF6", "#F3F3F3"
ADD, MOVE = "#D55E00", "#0072B2"
EIGHT = [3, 1, 7, 0, 4, 1, 6, 3]


def exclusive(values):
    return [sum(values[:i]) for i in range(len(values))]


class Picture:
    """Rows of cells under one another, with arrows from one row down to the next."""

    def __init__(self, title):
        self.title, self.rows, self.arrows = title, [], []

    def row(self, label, values, fill=None, gaps=()):
        """fill: {index: colour}; gaps: cells before which there is a border between tiles or blocks."""
        self.rows.append((label, list(values), fill or {}, set(gaps)))

    def arrow(self, start, end, colour=FAINT):
        """From a cell of the last row but one to a cell of the last row."""
        self.arrows.append((len(self.rows) - 2, start, len(self.rows) - 1, end, colour))

    def arrow_along(self, start, end, colour):
        """From a cell of the last row to another one of it, below the row."""
        self.arrows.append((len(self.rows) - 1, start, len(self.rows) - 1, end, colour))

    def x(self, row, index):
        gaps = self.rows[row][3]
        return LEFT + index * CELL + 12 * sum(1 for gap in gaps if gap <= index)

    def svg(self):
        width = max(self.x(i, len(values)) for i, (_, values, _, _) in enumerate(self.rows)) + 16
        height = TOP + ROW * len(self.rows) - 22
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
               f'font-family="sans-serif" font-size="14" role="img"><title>{self.title}</title>',
               f'<rect width="{width}" height="{height}" fill="white"/>', "<defs>"]
        for colour in (ADD, MOVE, FAINT):
            out.append(f'<marker id="h{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
                       f'<path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>')
        out.append("</defs>")
        for from_row, start, to_row, end, colour in self.arrows:
            x1, y1, x2 = self.x(from_row, start) + CELL / 2, TOP + from_row * ROW + 27, self.x(to_row, end) + CELL / 2
            shape = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{TOP + to_row * ROW - 2}"'
            if from_row == to_row:
                shape = f'<path d="M{x1 + 4} {y1}Q{(x1 + x2) / 2} {y1 + 18} {x2 - 4} {y1 + 1}" fill="none"'
            out.append(f'{shape} stroke="{colour}" stroke-width="1.4" marker-end="url(#h{colour[1:]})"/>')
        for i, (label, values, fill, _) in enumerate(self.rows):
            y = TOP + i * ROW
            out.append(f'<text x="{LEFT - 14}" y="{y + 18}" text-anchor="end" fill="{INK}">{label}</text>')
            for j, value in enumerate(values):
                if value is None:
                    continue
                x, small = self.x(i, j), ' font-size="11"' if len(str(value)) > 4 else ""
                out.append(f'<rect x="{x + 2}" y="{y}" width="{CELL - 4}" height="26" rx="3" fill="{fill.get(j, "white")}" stroke="{INK}" '
                           f'stroke-width="0.8"/><text x="{x + CELL / 2}" y="{y + 18}" text-anchor="middle" fill="{INK}"{small}>{value}</text>')
        return "\n".join(out + ["</svg>\n"])


# ---- scans ----

def serial_scan():
    picture, sums = Picture("Serial scan"), []
    picture.row("in", EIGHT)
    total = 0
    for value in EIGHT:
        sums.append(total)
        total += value
    picture.row("running sum", sums)
    for i in range(7):
        picture.arrow(i, i + 1, ADD)
        picture.arrow_along(i, i + 1, ADD)
    return picture, sums


def naive_scan():
    picture = Picture("Naive scan (Hillis and Steele)")
    picture.row("in", EIGHT)
    values = [0] + EIGHT[:-1]
    picture.row("shifted", values)
    for i in range(7):
        picture.arrow(i, i + 1, MOVE)
    distance = 1
    while distance < 8:
        values = [values[i] + (values[i - distance] if i >= distance else 0) for i in range(8)]
        picture.row(f"distance {distance}", values, {i: WRITTEN for i in range(distance, 8)})
        for i in range(8):
            picture.arrow(i, i)
            if i >= distance:
                picture.arrow(i - distance, i, ADD)
        distance *= 2
    return picture, values


def work_efficient_scan():
    picture, tree = Picture("Work-efficient scan (Blelloch)"), list(EIGHT)
    picture.row("in", tree)
    for stride in (1, 2, 4):
        rights = range(2 * stride - 1, 8, 2 * stride)
        for right in rights:
            tree[right] += tree[right - stride]
        picture.row(f"up, stride {stride}", tree, {right: WRITTEN for right in rights})
        for right in rights:
            picture.arrow(right - stride, right, ADD)
            picture.arrow(right, right, ADD)
    tree[7] = 0
    picture.row("root = 0", tree, {7: WRITTEN})
    for stride in (4, 2, 1):
        rights = range(2 * stride - 1, 8, 2 * stride)
        for right in rights:
            tree[right - stride], tree[right] = tree[right], tree[right] + tree[right - stride]
        picture.row(f"down, stride {stride}", tree, {i: WRITTEN for right in rights for i in (right - stride, right)})
        for right in rights:
            picture.arrow(right, right - stride, MOVE)
            picture.arrow(right - stride, right, ADD)
            picture.arrow(right, right, ADD)
    return picture, tree


def shared_memory_scan():
    picture = Picture("Shared-memory scan, in two blocks")
    picture.row("in", EIGHT, gaps=(4,))
    pieces = [exclusive(EIGHT[:4]), exclusive(EIGHT[4:])]
    sums = [sum(EIGHT[:4]), sum(EIGHT[4:])]
    picture.row("pieces scanned", pieces[0] + pieces[1], {i: WRITTEN for i in range(8)}, gaps=(4,))
    for i in range(8):
        picture.arrow(i, i)
    picture.row("their sums", [None] * 3 + [sums[0]] + [None] * 3 + [sums[1]], {3: KEPT, 7: KEPT}, gaps=(4,))
    picture.arrow(3, 3, ADD)
    picture.arrow(7, 7, ADD)
    offsets = exclusive(sums)
    picture.row("sums scanned", [None] * 3 + [offsets[0]] + [None] * 3 + [offsets[1]], {3: KEPT, 7: KEPT}, gaps=(4,))
    picture.arrow(3, 7, ADD)
    values = [x + offsets[i // 4] for i, x in enumerate(pieces[0] + pieces[1])]
    picture.row("offsets added", values, {i: WRITTEN for i in range(8)}, gaps=(4,))
    for i in range(8):
        picture.arrow(3 if i < 4 else 7, i, ADD)
    return picture, values


def single_pass_scan():
    picture, tiles = Picture("Single-pass scan, in four tiles"), [EIGHT[i:i + 2] for i in range(0, 8, 2)]
    gaps = (2, 4, 6)
    picture.row("in", EIGHT, gaps=gaps)
    aggregates = [sum(tile) for tile in tiles]
    picture.row("published", [x for a in aggregates for x in (None, a)], {i: KEPT for i in range(8)}, gaps=gaps)
    for i in range(8):
        picture.arrow(i, i | 1, ADD)
    prefixes = exclusive(aggregates)
    picture.row("prefix of a tile", [x for p in prefixes for x in (p, None)], {i: KEPT for i in range(8)}, gaps=gaps)
    for tile in range(4):
        for before in range(tile):
            picture.arrow(2 * before + 1, 2 * tile, ADD)
    values = [prefixes[i // 2] + (EIGHT[i - 1] if i % 2 else 0) for i in range(8)]
    picture.row("out", values, {i: WRITTEN for i in range(8)}, gaps=gaps)
    for i in range(8):
        picture.arrow(i & ~1, i, ADD)
    return picture, values


# ---- compaction ----

SPARSE = [3, 0, 7, 0, 4, 1, 0, 3]


def map_scan_scatter():
    picture = Picture("Compaction: map, scan, scatter")
    flags = [int(x != 0) for x in SPARSE]
    places = exclusive(flags)
    picture.row("in", SPARSE, {i: KEPT if flags[i] else DEAD for i in range(8)})
    picture.row("map", flags)
    for i in range(8):
        picture.arrow(i, i)
    picture.row("scan", places)
    for i in range(8):
        picture.arrow(i, i)
    out = [x for x in SPARSE if x != 0]
    picture.row("scatter", out, {i: KEPT for i in range(len(out))})
    for i in range(8):
        if flags[i]:
            picture.arrow(i, places[i], MOVE)
    return picture, out


def single_pass_compaction():
    picture, gaps = Picture("Single-pass compaction, in two tiles"), (4,)
    picture.row("in", SPARSE, {i: KEPT if SPARSE[i] else DEAD for i in range(8)}, gaps=gaps)
    tiles = [[x for x in SPARSE[:4] if x], [x for x in SPARSE[4:] if x]]
    packed = tiles[0] + [None] * (4 - len(tiles[0])) + tiles[1]
    picture.row("packed on the chip", packed, {i: KEPT for i in range(8)}, gaps=gaps)
    for first, tile in ((0, SPARSE[:4]), (4, SPARSE[4:])):
        places = exclusive([int(x != 0) for x in tile])
        for i, x in enumerate(tile):
            if x:
                picture.arrow(first + i, first + places[i], MOVE)
    out = tiles[0] + tiles[1]
    picture.row("out", out, {i: KEPT for i in range(8)})
    for i in range(len(tiles[0])):
        picture.arrow(i, i, MOVE)
    for i in range(len(tiles[1])):
        picture.arrow(4 + i, len(tiles[0]) + i, MOVE)
    return picture, out


# ---- sort ----

KEYS = [4, 7, 2, 6, 3, 5, 1, 0]


def binary(values, bits=3):
    return [format(x, f"0{bits}b") for x in values]


def split_sort():
    picture, keys = Picture("Split sort: one bit a pass"), list(KEYS)
    picture.row("in", binary(keys))
    for bit in range(3):
        zeros = [i for i in range(8) if not keys[i] >> bit & 1]
        order = zeros + [i for i in range(8) if keys[i] >> bit & 1]
        picture.row(f"by bit {bit}", binary([keys[i] for i in order]), {i: KEPT if i < len(zeros) else WRITTEN for i in range(8)})
        for to, start in enumerate(order):
            picture.arrow(start, to, MOVE if to < len(zeros) else ADD)
        keys = [keys[i] for i in order]
    return picture, keys


def digit_sort():
    """Two bits a digit, on keys of four bits."""
    picture, keys = Picture("Radix sort: a digit of two bits a pass"), [9, 4, 15, 2, 6, 12, 1, 8]
    colours = [KEPT, WRITTEN, "#D9F0E6", "#F6E3EE"]
    picture.row("in", binary(keys, 4))
    for shift in (0, 2):
        digits = [key >> shift & 3 for key in keys]
        starts = exclusive([digits.count(d) for d in range(4)])
        picture.row("starts of digits", [starts[d] for d in range(4)], dict(enumerate(colours)))
        for d in range(4):
            for i in (i for i in range(8) if digits[i] == d):
                picture.arrow(i, d)
        order = sorted(range(8), key=lambda i: digits[i])
        picture.row("by low digit" if shift == 0 else "by high digit", binary([keys[i] for i in order], 4),
                    {to: colours[digits[i]] for to, i in enumerate(order)})
        for d in range(4):
            for to in (to for to, i in enumerate(order) if digits[i] == d):
                picture.arrow(d, to, MOVE)
        keys = [keys[i] for i in order]
    return picture, keys


def bucket_sort():
    """The two highest bits first, then each bucket by itself."""
    picture, keys = Picture("Radix sort by buckets: the highest bits first"), [9, 4, 15, 2, 6, 12, 1, 8]
    colours = [KEPT, WRITTEN, "#D9F0E6", "#F6E3EE"]
    picture.row("in", binary(keys, 4))
    order = sorted(range(8), key=lambda i: keys[i] >> 2)
    counts = [sum(key >> 2 == d for key in keys) for d in range(4)]
    gaps = [start for start, count in zip(exclusive(counts), counts) if start and count]
    picture.row("in buckets", binary([keys[i] for i in order], 4), {to: colours[keys[i] >> 2] for to, i in enumerate(order)}, gaps)
    for to, i in enumerate(order):
        picture.arrow(i, to, MOVE)
    keys = [keys[i] for i in order]
    order = sorted(range(8), key=lambda i: keys[i])
    assert all(keys[i] >> 2 == keys[to] >> 2 for to, i in enumerate(order))
    picture.row("each sorted", binary([keys[i] for i in order], 4), {to: colours[keys[i] >> 2] for to, i in enumerate(order)}, gaps)
    for to, i in enumerate(order):
        picture.arrow(i, to)
    return picture, [keys[i] for i in order]


# ---- UTF-8 ----

TEXT = [0x41, 0xE2, 0x82, 0xAC, 0xC3, 0xA9, 0x80, 0x42]  # A, euro sign, e acute, a stray byte, B
CODES = [0x41, 0x20AC, 0xE9, 0x1F600]


def hexadecimal(values):
    return [format(x, "02X") for x in values]


def length_of(lead):
    return 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4 if 0xF0 <= lead < 0xF5 else 1


def offsets_of(text):
    """Of each byte in its sequence, by the three bytes before it (the special cases of E0, ED, F0, F4 are not in this text)."""
    def covered_by(i):
        for distance in (1, 2, 3):
            between = text[max(0, i - distance + 1):i + 1]
            if i >= distance and length_of(text[i - distance]) > distance and all(0x80 <= x < 0xC0 for x in between):
                return distance
        return 0
    return [covered_by(i) for i in range(len(text))]


def decode_one(sequence):
    good = len(sequence) == length_of(sequence[0]) and not 0x80 <= sequence[0] < 0xC2
    return ord(bytes(sequence).decode()) if good else 0xFFFD


def utf8_in_one_pass():
    picture, offsets = Picture("UTF-8 decoded in one pass"), offsets_of(TEXT)
    picture.row("in", hexadecimal(TEXT))
    picture.row("offset in sequence", offsets, {i: KEPT for i in range(8) if offsets[i] == 0})
    for i in range(8):
        picture.arrow(i - offsets[i], i, ADD if offsets[i] else FAINT)
    ends = [int(i == 7 or offsets[i + 1] == 0) for i in range(8)]
    picture.row("is it an end?", ends, {i: KEPT for i in range(8) if ends[i]})
    for i in range(8):
        picture.arrow(min(i + 1, 7), i)
    places = exclusive(ends)
    picture.row("scan", places)
    for i in range(8):
        picture.arrow(i, i)
    codes = [decode_one(TEXT[i - offsets[i]:i + 1]) for i in range(8) if ends[i]]
    picture.row("decode, store", hexadecimal(codes), {i: KEPT for i in range(len(codes))})
    for i in range(8):
        if ends[i]:
            picture.arrow(i, places[i], MOVE)
    return picture, codes


def utf8_in_steps():
    picture, offsets = Picture("UTF-8 decoded in steps"), offsets_of(TEXT)
    picture.row("in", hexadecimal(TEXT))
    picture.row("offset in sequence", offsets)
    for i in range(8):
        picture.arrow(i, i)
    numbers = [sum(x == 0 for x in offsets[:i + 1]) for i in range(8)]
    picture.row("sum of the starts", numbers)
    for i in range(8):
        picture.arrow(i, i, ADD)
    nsequences = numbers[-1]
    groups = [[TEXT[i] for i in range(8) if numbers[i] == k + 1] for k in range(nsequences)]
    picture.row("groups of four", ["".join(hexadecimal(group)) for group in groups], {k: WRITTEN for k in range(nsequences)})
    for i in range(8):
        picture.arrow(i, numbers[i] - 1, MOVE)
    codes = [decode_one(group) for group in groups]
    picture.row("decoded", hexadecimal(codes), {k: KEPT for k in range(nsequences)})
    for k in range(nsequences):
        picture.arrow(k, k)
    return picture, codes


def utf8_encoded():
    picture, texts = Picture("UTF-8 encoded"), [chr(code).encode() for code in CODES]
    picture.row("in", hexadecimal(CODES))
    picture.row("length", [len(text) for text in texts])
    for i in range(len(CODES)):
        picture.arrow(i, i)
    places = exclusive([len(text) for text in texts])
    picture.row("scan", places)
    for i in range(len(CODES)):
        picture.arrow(i, i)
    out = [byte for text in texts for byte in text]
    colours = [KEPT, WRITTEN, "#D9F0E6", "#F6E3EE"]
    picture.row("out", hexadecimal(out), {places[i] + k: colours[i] for i, text in enumerate(texts) for k in range(len(text))})
    for i, text in enumerate(texts):
        for k in range(len(text)):
            picture.arrow(i, places[i] + k, MOVE)
    return picture, out


PICTURES = {
    "scan-serial": (serial_scan, exclusive(EIGHT)), "scan-naive": (naive_scan, exclusive(EIGHT)),
    "scan-work-efficient": (work_efficient_scan, exclusive(EIGHT)), "scan-shared-memory": (shared_memory_scan, exclusive(EIGHT)),
    "scan-single-pass": (single_pass_scan, exclusive(EIGHT)), "compact-map-scan-scatter": (map_scan_scatter, [3, 7, 4, 1, 3]),
    "compact-single-pass": (single_pass_compaction, [3, 7, 4, 1, 3]), "sort-split": (split_sort, sorted(KEYS)),
    "sort-digits": (digit_sort, [1, 2, 4, 6, 8, 9, 12, 15]), "sort-buckets": (bucket_sort, [1, 2, 4, 6, 8, 9, 12, 15]),
    "utf8-single-pass": (utf8_in_one_pass, [ord(x) for x in bytes(TEXT).decode(errors="replace")]),
    "utf8-steps": (utf8_in_steps, [ord(x) for x in bytes(TEXT).decode(errors="replace")]),
    "utf8-encode": (utf8_encoded, list("".join(map(chr, CODES)).encode())),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="docs/img")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name, (draw, expected) in PICTURES.items():
        picture, got = draw()
        assert got == expected, name
        with open(os.path.join(options.out, f"{name}.svg"), "w") as file:
            file.write(picture.svg())


if __name__ == "__main__":
    main()
