#!/usr/bin/env python3
"""Fills the tables of a Markdown page from the JSON lines of upsweep-bench, so that every number on it comes from a kept file.

    python3 bench/tables.py PAGE.md
    python3 bench/tables.py --new PAGE.md RUN.jsonl... # a new page, of all tables for which the runs have rows, and the figures beside it

The page says what goes where: between `<!-- begin NAME FILE -->` and `<!-- end NAME -->` comes the table NAME of the run in FILE, whose path is
relative to the page; or of several, FILE,FILE (a comma and no space). A NAME like figure-threads is the figure img/threads.svg, if it is there.
"""
import json
import math
import os
import re
import statistics
import sys

PEER_SLACK = 0.02  # a peer is faster if it takes less than this share less time


def read(path):
    machine, rows = {}, []
    for line in open(path):
        row = json.loads(line)
        if "machine" in row:
            machine.update(row["machine"])
        else:
            rows.append({"mode": None, **row})
    return machine, rows


# ---- cells ----

def size(n):
    for minus in (0, 3):
        power = math.log2(n + minus)
        if power == int(power):
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

POINT = ("group", "primitive", "backend", "type", "n", "keep", "distribution", "mode", "num_bits", "cache")


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] in value if isinstance(value, (tuple, set, range)) else row[key] == value
                                       for key, value in wanted.items())]


def against_peers(rows):
    """[(ours, the fastest peer at the same point)]: calls only, as they are measured alike."""
    peers = {}
    for row in rows:
        point = tuple(row[key] for key in POINT)
        if row["peer_version"] and (point not in peers or row["ms"] < peers[point]["ms"]):
            peers[point] = row
    ours = [row for row in rows if row["algorithm"] == "upsweep"]
    return [(row, peers[tuple(row[key] for key in POINT)]) for row in ours if tuple(row[key] for key in POINT) in peers]


CALLS = ("scan-calls", "compact-calls", "sort-calls", "scan-types", "select-kinds", "select-runs", "sort-types", "sort-inputs", "cold", "large",
         "utf8-scripts", "utf8-size", "utf8-checks")


def versus(rows, columns):
    """A line for each point: what the columns say of it, then ours, the peer's, and how many times as fast we are."""
    lines = []
    for ours, peer in against_peers(rows):
        lines.append([f(ours) for _, f in columns] + [time(ours["ms"]), share(ours["x_copy"]), peer["algorithm"], time(peer["ms"]),
                                                      share(peer["x_copy"]), ratio(peer["ms"] / ours["ms"])])
    return table([name for name, _ in columns] + ["upsweep", "x copy", "best peer", "time", "x copy", "times as fast"], lines)


N = ("n", lambda row: size(row["n"]))
KEEP = ("kept", lambda row: f"{row['keep']} %")
TYPE = ("type", lambda row: row["type"])
KIND = ("call", lambda row: row["primitive"])
INPUT = ("input", lambda row: row["distribution"])
CACHE = ("cache", lambda row: row["cache"])

SIZES = {1 << k for k in (10, 16, 20, 22, 24, 26, 28, 30)}


def machine_block(machine, rows):
    peers = ", ".join(sorted({row["peer_version"] for row in rows if row["peer_version"]}))
    lines = [[key, machine[key]] for key in ("gpu", "multiprocessors", "capability", "cuda", "cpu", "threads", "instructions", "os", "compiler")
             if key in machine]
    date, commit = sorted({row["date"] for row in rows}), sorted({row["commit"] for row in rows})
    return table(["what", ""], lines + [["peers", peers], ["library", f"{machine['version']}, commit {', '.join(commit)}"],
                                        ["date", ", ".join(date)], ["rows", len(rows)]])


def scan(rows, backend):
    return versus(pick(rows, group=("scan-calls", "large"), primitive="scan", backend=backend, n=SIZES), [N])


def compact(rows, backend):
    return versus(pick(rows, group=("compact-calls", "large"), primitive="compact", backend=backend, n=SIZES - {1 << 22, 1 << 26}), [N, KEEP])


def sort(rows, backend):
    return versus(pick(rows, group="sort-calls", backend=backend, n={1 << k for k in (3, 8, 10, 12, 13, 14, 16, 18, 20, 22, 24, 26, 28)}), [N])


def others(rows, backend):
    wanted = pick(rows, group=("scan-types", "select-kinds", "select-runs"), backend=backend, n={1 << 20, 1 << 24, 1 << 28})
    return versus(wanted, [KIND, TYPE, N, ("kept", lambda row: f"{row['keep']} %" if row["keep"] is not None else ""), INPUT])


def sorts(rows, backend):
    return versus(pick(rows, group=("sort-types", "sort-inputs"), backend=backend, n={1 << 20, 1 << 24, 1 << 28}), [KIND, TYPE, N, INPUT])


def cold(rows, backend):
    return versus(pick(rows, group="cold", backend=backend), [KIND, N])


SCRIPTS = ("ascii", "french", "russian", "chinese", "emoji", "mixed", "bad", "random")
CALLS_ON_TEXT = (("to UTF-32", "utf8_decode", "utf32"), ("to UTF-16", "utf8_decode", "utf16le"), ("clean", "utf8_decode", "utf8"),
                 ("validate", "utf8_validate", "utf8"), ("count", "utf8_count", "utf8"), ("from UTF-32", "utf8_encode", "utf32"),
                 ("from UTF-16", "utf8_encode", "utf16le"))


def text_of(rows, algorithm):
    """GB/s of UTF-8 on the CPU: a line for each text, a column for each call; of the library with replacement."""
    wanted = pick(rows, group=("utf8-scripts", "utf8-checks"), backend="cpu", algorithm=algorithm,
                  mode=(None, "replace") if algorithm == "upsweep" else (None, "strict"))
    at = {(row["n"], row["distribution"], row["primitive"], row["type"]): f"{row['gb_per_s']:.1f}" for row in wanted}
    texts = sorted({(row["n"], row["distribution"]) for row in wanted}, key=lambda text: (text[0], SCRIPTS.index(text[1])))
    calls = [call for call in CALLS_ON_TEXT if any(key[2:] == call[1:] for key in at)]
    return table(["text", "bytes"] + [name for name, _, _ in calls],
                 [[script, size(n)] + [at.get((n, script, *call), "") for _, *call in calls] for n, script in texts])


def utf8(rows, backend):
    """GB/s of UTF-8, by conversion and script, at the sizes of the group utf8-scripts."""
    wanted = pick(rows, group=("utf8-scripts", "utf8-remove", "utf8-checks"), backend=backend)
    peers = sorted({row["algorithm"] for row in wanted if row["peer_version"]}, reverse=True)
    at = {(row["primitive"], row["type"], row["n"], row["distribution"], row["algorithm"], row["mode"]): row for row in wanted}
    lines = []
    for _, primitive, kind in CALLS_ON_TEXT:
        for n in sorted({row["n"] for row in pick(wanted, primitive=primitive, type=kind)}):
            for script in SCRIPTS:
                def speed_of(algorithm, *modes):
                    found = [at[key] for mode in modes if (key := (primitive, kind, n, script, algorithm, mode)) in at]
                    return rate(found[0]["gb_per_s"]) if found else ""
                ours = at.get((primitive, kind, n, script, "upsweep", "replace")) or at.get((primitive, kind, n, script, "upsweep", None))
                if ours:
                    lines.append([f"{primitive}, {kind}", size(n), script, speed_of("upsweep", "replace", None), share(ours["x_copy"]),
                                  speed_of("upsweep", "strict"), speed_of("upsweep", "remove")] + [speed_of(peer, "strict", None) for peer in peers])
    return table(["call", "bytes", "text", "upsweep", "x copy", "strict", "remove"] + peers, lines)


def ladder(rows, group, n):
    wanted = pick(rows, group=group, n=n)
    serial = {row["primitive"]: row["ms"] for row in wanted if row["algorithm"] in ("serial", "without-scan", "std::sort", "in-steps")}
    def name(row):
        return row["primitive"] + ", " + row["algorithm"] if row["primitive"].startswith("utf8") else row["algorithm"]
    lines = [[name(row), "GPU" if row["backend"] == "cuda" else f"CPU, {row['threads']} threads" if row["threads"] > 1 else "CPU",
              time(row["ms"]), f"{row['gb_per_s']:.1f}", f"{1e-6 * row['items_per_s']:.0f}", times_as_fast(serial.get(row["primitive"]), row["ms"])]
             for row in wanted]
    return table(["rung", "on", "time", "GB/s", "M elements/s", "times the serial one"], lines)


def threads(rows):
    counts = sorted({row["threads"] for row in pick(rows, group="threads")})
    lines, n = [], size(next((row["n"] for row in pick(rows, group="threads")), 1))
    for primitive in ("scan", "compact", "sort", "utf8_decode"):
        times = {row["threads"]: row["ms"] for row in pick(rows, group="threads", primitive=primitive)}
        if times:
            lines.append([primitive] + [f"{time(times[count])} ({times[1] / times[count]:.1f})" if count in times else "" for count in counts])
    return table([f"{n} elements, or bytes of text"] + [f"{count} threads" if count > 1 else "1 thread" for count in counts], lines)


def summary(rows, backend):
    """For the README: times as fast as the best peer and, in brackets, as a copy; text has no peer on a GPU, so GB/s."""
    columns = [("scan i32", "scan-calls", None), ("compact i32, 50 % kept", "compact-calls", 50), ("sort u32", "sort-calls", None)]
    best = {(ours["group"], ours["n"], ours["keep"]): (ours, peer) for ours, peer in against_peers(pick(rows, backend=backend))}
    text = {row["n"]: row for row in pick(rows, group="utf8-scripts", primitive="utf8_decode", type="utf32", distribution="mixed", mode="replace",
                                          algorithm="upsweep", backend=backend)}
    lines = []
    for n in (1 << 20, 1 << 24, 1 << 28):
        pairs = [best.get((group, n, keep)) for _, group, keep in columns]
        cells = [ratio(peer["ms"] / ours["ms"]) + ("" if ours["primitive"] == "sort" else f" ({ratio(ours['x_copy'])})")
                 for ours, peer in filter(None, pairs)]
        lines.append([size(n)] + cells + ([f"{text[n]['gb_per_s']:.0f} ({ratio(text[n]['x_copy'])})"] if n in text else []))
    return table(["elements, or bytes"] + [name for name, _, _ in columns] + (["UTF-8 to UTF-32, GB/s"] if text else []), lines)


def losses(rows, backend):
    """Each kind of call and input: at which sizes is a peer faster, and by how much at worst?"""
    groups = {}
    for ours, peer in against_peers(pick(rows, group=CALLS, backend=backend)):
        key = (ours["primitive"], ours["type"], f"{ours['keep']} %" if ours["keep"] is not None else "", ours["distribution"], ours["cache"])
        lost, all_sizes, worst = groups.setdefault(key, ([], [], [1.0, "", 0]))
        all_sizes.append(ours["n"])
        speed = peer["ms"] / ours["ms"]
        if speed < 1 - PEER_SLACK:
            lost.append(ours["n"])
            if speed < worst[0]:
                worst[:] = [speed, peer["algorithm"], ours["n"]]
    lines = [list(key) + [f"{len(set(lost))} of {len(set(all_sizes))}: {sizes(lost)}", worst[1],
                          f"{ratio(worst[0])} at {size(worst[2])}"]
             for key, (lost, all_sizes, worst) in groups.items() if lost]
    if groups and not lines:
        return "Nowhere."
    return table(["call", "type", "kept", "input", "cache", "slower at", "than", "at worst, times as fast"], lines)


def sweep(rows, backend):
    """Of all sizes of the sweep in a range: the least, the median and the best times as fast, and the sizes where a peer is faster."""
    lines = []
    for primitive in ("scan", "compact"):
        pairs = against_peers(pick(rows, group=f"{primitive}-sweep", backend=backend))
        for low, high in ((3, 10), (10, 16), (16, 20), (20, 24), (24, 28)):
            speeds = [(peer["ms"] / ours["ms"], ours["n"]) for ours, peer in pairs if 1 << low <= ours["n"] <= 1 << high]
            if speeds:
                lost = [n for speed, n in speeds if speed < 1 - PEER_SLACK]
                lines.append([primitive, f"2^{low} to 2^{high}", len(speeds), f"{ratio(min(speeds)[0])} at {min(speeds)[1]}",
                              ratio(statistics.median(speed for speed, _ in speeds)), ratio(max(speeds)[0]), len(lost)])
    return table(["call", "sizes", "how many", "at worst, times as fast", "median", "at best", "slower at"], lines)


def read_all(paths):
    machine, rows = {}, []
    for path in paths:
        more_machine, more_rows = read(path)
        machine.update(more_machine)
        rows += more_rows
    return machine, rows


def makers_of(machine, rows):
    def of_ladder(group, most):  # at the largest size up to `most` that has been measured
        return lambda: ladder(rows, group, max((row["n"] for row in pick(rows, group=group) if row["n"] <= most), default=0))

    makers = {
        "machine": lambda: machine_block(machine, rows),
        "ladder-scan": of_ladder("scan-size", 1 << 24), "ladder-compact": of_ladder("compact-size", 1 << 24),
        "ladder-sort": of_ladder("sort-size", 1 << 20), "ladder-utf8": of_ladder("utf8-steps", 1 << 24), "threads": lambda: threads(rows),
    }
    for algorithm in ("upsweep", "simdutf", "iconv"):
        makers[f"text-of-{algorithm}"] = lambda algorithm=algorithm: text_of(rows, algorithm)
    for backend, where in (("cuda", "gpu"), ("cpu", "cpu")):
        for maker in (scan, compact, sort, others, sorts, cold, utf8, sweep, summary, losses):
            makers[f"{maker.__name__}-{where}"] = lambda maker=maker, backend=backend: maker(rows, backend)
    return makers


def figure(page, name):
    """A figure that plot.py has drawn from the same run, if it has."""
    path = f"img/{name.removeprefix('figure-')}.svg"
    return f"![{path}]({path})" if os.path.exists(os.path.join(os.path.dirname(page), path)) else ""


def fill(page):
    text, runs = open(page).read(), {}
    for name, files in re.findall(r"<!-- begin (\S+) (\S+) -->", text):
        if files not in runs:
            runs[files] = makers_of(*read_all(os.path.join(os.path.dirname(page), file) for file in files.split(",")))
        made = figure(page, name) if name.startswith("figure-") else runs[files][name]()
        text = re.sub(rf"(<!-- begin {name} {re.escape(files)} -->\n).*?(<!-- end {name} -->)", lambda match: f"{match[1]}{made}\n{match[2]}",
                      text, flags=re.S)
    open(page, "w").write(text)


def write_new(page, paths):
    tables = {name: make() for name, make in makers_of(*read_all(paths)).items()}
    images = os.path.join(os.path.dirname(page), "img")
    figures = sorted(name for name in os.listdir(images) if name.endswith(".svg")) if os.path.isdir(images) else []
    parts = ["# Measured on this machine", "The columns are explained in docs/performance.md."]
    parts += [f"## {name}\n\n{made}" for name, made in tables.items() if made.count("\n") > 1]
    parts += ["## Figures"] + [f"![{name}](img/{name})" for name in figures]
    open(page, "w").write("\n\n".join(parts) + "\n")


def main():
    if sys.argv[1] == "--new":
        write_new(sys.argv[2], sys.argv[3:])
    else:
        fill(sys.argv[1])


if __name__ == "__main__":
    main()
