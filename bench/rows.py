"""The rows of runs, and how their figures are written: what tables.py and plot.py are made from.

A run is a file of JSON lines from upsweep-bench; or one whose name ends with .txt, from another driver, with calls at many sizes, a line for each
call. Times are in us, the library's and the peer's:

    compact u8: 16 1.05 2.89 x2.75; 19 1.19 2.92 x2.45; 23 ...
"""
import json
import math
import re

POINT = ("group", "primitive", "backend", "type", "n", "keep", "distribution", "mode", "num_bits", "value_nbytes", "cache")
CALL_LINE = re.compile(r"([a-z ]+) (\w+): \d+ [\d.]+ [\d.]+ x[\d.]+;")


def two_rows(call, kind, n, ours, peer):
    """As upsweep-bench would have written them."""
    point = {**dict.fromkeys(POINT), "group": "call-sizes", "primitive": call, "type": kind, "n": n}
    return [{**point, "algorithm": "upsweep", "ms": 1e-3 * float(ours), "peer_version": None},
            {**point, "algorithm": "cub", "ms": 1e-3 * float(peer), "peer_version": "CUB"}]


def read_text(path):
    rows = []
    for line in open(path):
        if match := CALL_LINE.match(line):
            for n, ours, cub in re.findall(r"(\d+) ([\d.]+) ([\d.]+) x", line):
                rows += two_rows(*match.groups(), int(n), ours, cub)
    return {}, rows


def read(path):
    if path.endswith(".txt"):
        return read_text(path)
    machine, rows = {}, []
    for line in open(path):
        row = json.loads(line)
        if "machine" in row:
            machine.update(row["machine"])
        else:
            rows.append({"mode": None, "value_nbytes": 4 if row["primitive"] == "sort_pairs" else None, **row}) # older runs do not say so
    return machine, rows


def point_of(row):
    return tuple(row[key] for key in POINT)


def read_all(paths):
    """Points of a later run take the place of an earlier one's: what is compared is of one run."""
    machine, rows = {}, []
    for path in paths:
        more_machine, more_rows = read(path)
        machine.update(more_machine)
        again = {point_of(row) for row in more_rows}
        rows = [row for row in rows if point_of(row) not in again] + more_rows
    return machine, rows


# ---- cells ----

def size(n):
    for minus in (0, 3):
        power = math.log2(n + minus)
        if power == int(power) and (minus == 0 or n > 1000):
            return f"2^{int(power)}" + (f" - {minus}" if minus else "")
    return str(n)


def sizes(ns):
    """Powers of two that follow one another as a range."""
    out, ns = [], sorted(set(ns))
    while ns:
        last = next(i for i in range(len(ns)) if i + 1 == len(ns) or ns[i + 1] != 2 * ns[i])
        out += [size(n) for n in ns[:last + 1]] if last < 2 else [f"{size(ns[0])} to {size(ns[last])}"]
        ns = ns[last + 1:]
    return ", ".join(out)


def time(ms):
    if ms >= 1:
        return f"{ms:.3g} ms" if ms < 1000 else f"{1e-3 * ms:.3g} s"
    return f"{1e3 * ms:.3g} us" if ms >= 1e-3 else f"{1e6 * ms:.3g} ns"


def rate(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def share(x):
    return "" if x is None else f"{x:.3f}"


def ratio(x):
    return f"{x:.2f}"


def times_as_fast(before, now):
    return "" if before is None else f"{before / now:.0f}" if before >= 10 * now else f"{before / now:.2g}"


def table(head, lines):
    if not lines:
        return "(This run has no rows of it.)"
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines])


# ---- rows ----

def pick(rows, **wanted):
    return [row for row in rows if all(row[key] in value if isinstance(value, (tuple, set, range)) else row[key] == value
                                       for key, value in wanted.items())]


def against_peers(rows):
    """[(ours, the fastest peer at the same point)]: calls only, as they are measured alike."""
    peers = {}
    for row in rows:
        point = point_of(row)
        if row["peer_version"] and (point not in peers or row["ms"] < peers[point]["ms"]):
            peers[point] = row
    ours = [row for row in rows if row["algorithm"] == "upsweep"]
    return [(row, peers[point_of(row)]) for row in ours if point_of(row) in peers]


def speed_up(ours, peer):
    return peer["ms"] / ours["ms"]
