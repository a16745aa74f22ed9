#!/usr/bin/env python3
"""Fills the tables of Markdown pages from the JSON lines of upsweep-bench, so that every number in them comes from a kept file.

    python3 bench/tables.py PAGE.md...
    python3 bench/tables.py --check PAGE.md...         # writes nothing, but fails if a table is not that of its file
    python3 bench/tables.py --new PAGE.md RUN.jsonl... # a new page, of all tables for which the runs have rows, and the figures beside it

The page says what goes where: between `<!-- begin NAME FILE -->` and `<!-- end NAME -->` comes the table NAME of the run in FILE, whose path is
relative to the page; or of several, FILE,FILE (a comma and no space). A NAME like figure-threads is the figure img/threads.svg, if it is there.
"""
import os
import re
import statistics
import sys

from rows import against_peers, pick, rate, ratio, read_all, share, size, sizes, speed_up, table, time, times_as_fast

PEER_SLACK = 0.02  # a peer is faster if it takes less than this share less time
CALLS = ("scan-calls", "compact-calls", "sort-calls", "scan-types", "select-kinds", "select-runs", "sort-types", "sort-pairs", "argsort",
         "sort-inputs", "cold", "large", "utf8-scripts", "utf8-size", "utf8-checks")


def by_size(rows, columns):
    """A line for each kind of call, a column for each size: our time, how many times as fast as the best peer that is, and in brackets as a copy."""
    lines, beside = {}, {}
    for ours, peer in against_peers(rows):
        key = tuple(f(ours) for _, f in columns)
        lines.setdefault(key, {})[ours["n"]] = f"{time(ours['ms'])}, {ratio(speed_up(ours, peer))} ({ratio(ours['x_copy'])})"
        beside.setdefault(key, set()).add(peer["algorithm"])
    ns = sorted({n for cells in lines.values() for n in cells})
    several = len(set().union(*beside.values())) > 1
    return table([name for name, _ in columns] + ["beside"] * several + [size(n) for n in ns],
                 [[*key] + [", ".join(sorted(beside[key]))] * several + [cells.get(n, "") for n in ns] for key, cells in lines.items()])


def versus(rows, columns):
    """A line for each point: what the columns say of it, then ours, the peer's, and how many times as fast we are."""
    lines = []
    for ours, peer in against_peers(rows):
        lines.append([f(ours) for _, f in columns] + [time(ours["ms"]), share(ours["x_copy"]), peer["algorithm"], time(peer["ms"]),
                                                      share(peer["x_copy"]), ratio(speed_up(ours, peer))])
    return table([name for name, _ in columns] + ["upsweep", "x copy", "best peer", "time", "x copy", "times as fast"], lines)


N = ("n", lambda row: size(row["n"]))
KEEP = ("kept", lambda row: "" if row["keep"] is None else f"{row['keep']} %")
TYPE = ("type", lambda row: row["type"] + (f" + {row['value_nbytes']}" if row["value_nbytes"] else ""))
KIND = ("call", lambda row: row["primitive"])
INPUT = ("input", lambda row: row["distribution"])

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
    return by_size(pick(rows, group=("compact-calls", "large"), primitive="compact", backend=backend, n=SIZES - {1 << 22, 1 << 26}), [KEEP])


def sort(rows, backend):
    return versus(pick(rows, group="sort-calls", backend=backend, n={1 << k for k in (3, 8, 10, 12, 13, 14, 16, 18, 20, 22, 24, 26, 28)}), [N])


def scans(rows, backend):
    return by_size(pick(rows, group="scan-types", backend=backend), [TYPE])


def selects(rows, backend):
    return by_size(pick(rows, group=("select-kinds", "select-runs"), backend=backend), [KIND, KEEP, INPUT])


def sorts(rows, backend):
    """Of keys, and of pairs with the least values."""
    return by_size(pick(rows, group=("sort-types", "sort-pairs", "sort-inputs"), value_nbytes=(None, 4), backend=backend), [KIND, TYPE, INPUT])


def stable_sorts(rows, backend):
    """Of pairs by their values, and of indices."""
    wanted = pick(rows, group=("sort-types", "sort-pairs", "argsort"), primitive=("sort_pairs", "argsort"), backend=backend)
    return by_size(wanted, [KIND, TYPE])


def cold(rows, backend):
    return by_size(pick(rows, group="cold", backend=backend), [KIND])


def sort_bits(rows, backend):
    """us by the number of bits that are sorted by."""
    pairs = sorted(against_peers(pick(rows, group="sort-bits", backend=backend)), key=lambda pair: pair[0]["num_bits"])
    return table(["bits"] + [str(ours["num_bits"]) for ours, _ in pairs],
                 [["upsweep"] + [time(ours["ms"]) for ours, _ in pairs], ["best peer"] + [time(peer["ms"]) for _, peer in pairs],
                  ["times as fast"] + [ratio(speed_up(ours, peer)) for ours, peer in pairs]] if pairs else [])


def call_sizes(rows):
    """A line for each call and type: our time and how many times as fast that is, at some sizes; of all, the least, and at how many a peer is faster."""
    speeds = {}
    for ours, peer in against_peers(pick(rows, group="call-sizes")):
        speeds.setdefault((ours["primitive"], ours["type"]), []).append((speed_up(ours, peer), ours))
    shown = [1 << k for k in (10, 16, 20, 24, 28)]
    lines = []
    for call, found in speeds.items():
        least, at = min((x, row["n"]) for x, row in found)
        cells = {row["n"]: f"{time(row['ms'])}, {ratio(x)}" for x, row in found}
        lines.append([" ".join(call)] + [cells.get(n, "") for n in shown] +
                     [f"{ratio(least)} at {size(at)}", f"{sum(x < 1 - PEER_SLACK for x, _ in found)} of {len(found)}"])
    return table(["call"] + [size(n) for n in shown] + ["least", "slower at"], lines)


# ---- sorts of many kinds of keys ----

KINDS = ("kinds", "kinds-more", "kinds-floats", "kinds-indices")
KIND_SIZES = [1 << k for k in (12, 16, 18, 20, 21, 22, 24, 26)]
CALL_NAMES = {"sort": "keys", "sort_pairs": "pairs", "argsort": "argsort"}


def kinds(rows, *calls, names=None, sizes=KIND_SIZES[1:]):
    """How many times as fast as the peer, at each size: a line for each kind of keys, a column for each call; what is below 1 in bold."""
    at = {}
    for ours, peer in against_peers(pick(rows, group=KINDS, primitive=calls)):
        cell = ratio(speed_up(ours, peer))
        at[ours["primitive"], ours["type"], ours["distribution"], ours["n"]] = f"**{cell}**" if float(cell) < 1 else cell
    columns = sorted({key[:2] for key in at}, key=lambda column: (calls.index(column[0]), ("u32", "u64", "f32", "f64").index(column[1])))
    names = names or dict.fromkeys(key[2] for column in columns for key in at if key[:2] == column)
    def line(call, name):
        cells = [at.get((*call, name, n), "-") for n in sizes]
        return ", ".join(cells) if set(cells) != {"-"} else ""
    return table([""] + [f"{CALL_NAMES[call]} {kind}" for call, kind in columns],
                 [[name] + [line(column, name) for column in columns] for name in names])


def kinds_named(rows):
    """Those that are most often asked about, from small to large."""
    return kinds(rows, *CALL_NAMES, names=("sorted", "reversed", "equal", "few", "zipf", "million", "top-byte", "sentinel", "knots", "row",
                                             "row-mixed"),
                 sizes=[1 << k for k in (12, 16, 20, 24, 28)])


def by_call(rows):
    """{call and type: [(times as fast as the peer, rounded as it is shown; our row)]}"""
    speeds = {}
    for ours, peer in against_peers(pick(rows, group=KINDS)):
        speeds.setdefault(f"{CALL_NAMES[ours['primitive']]} {ours['type']}", []).append((round(speed_up(ours, peer), 2), ours))
    return speeds


def kinds_names(rows):
    """What each kind is, as bench/axes.h says."""
    text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "axes.h")).read()
    measured = {row["distribution"] for row in pick(rows, group=KINDS)}
    return table(["kind", "keys"], [[name, what] for name, what in re.findall(r'X\(\w+, "([^"]*)", "([^"]*)"\)', text) if name in measured])


def kinds_spread(rows):
    """Of all kinds of keys: the least, the median and the most times as fast as the peer."""
    def spread(found):
        return f"{ratio(min(found))}, {ratio(statistics.median(found))}, {ratio(max(found))}" if found else ""
    return table(["sort of"] + [size(n) for n in KIND_SIZES],
                 [[call] + [spread([x for x, row in speeds if row["n"] == n]) for n in KIND_SIZES] for call, speeds in by_call(rows).items()])


def kinds_below(rows):
    """Which kinds of keys a peer sorts quicker: the least times as fast, and at which sizes."""
    lines = []
    def line(what, speeds, which):
        return [what, len(speeds), sum(x < 1 for x, _ in speeds), sum(x < 0.97 for x, _ in speeds), which]
    for call, speeds in by_call(rows).items():
        below = {}
        for x, row in speeds:
            if x < 1:
                below.setdefault(row["distribution"], []).append((x, row["n"]))
        lines.append(line(call, speeds, "; ".join(f"{name} {ratio(min(found)[0])} ({', '.join(size(n) for _, n in found)})"
                                                  for name, found in sorted(below.items(), key=lambda item: min(item[1])))))
    return table(["sort of", "figures", "below 1", "below 0.97", "which: the least, and at what sizes"],
                 lines + [line("all", sum(by_call(rows).values(), []), "")] if lines else [])


# ---- text ----

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
    """GB/s of UTF-8 and, in brackets, the share of a copy's speed: a line for each call, size and mode, or peer; a column for each script."""
    wanted = pick(rows, group=("utf8-scripts", "utf8-remove", "utf8-checks"), backend=backend)
    lines = {}
    for row in sorted(wanted, key=lambda row: (row["peer_version"] is not None, row["mode"] not in (None, "replace"))):
        who = row["algorithm"] if row["peer_version"] else row["mode"] or ""
        line = lines.setdefault((row["primitive"], row["type"], row["n"], who), {})
        line[row["distribution"]] = f"{rate(row['gb_per_s'])} ({ratio(row['x_copy'])})"
    return table(["call", "bytes", "with"] + list(SCRIPTS),
                 [[name, size(key[2]), key[3]] + [lines[key].get(script, "") for script in SCRIPTS]
                  for name, *call in CALLS_ON_TEXT for n in sorted({key[2] for key in lines}) for key in lines if key[:3] == (*call, n)])


def text_summary(rows):
    """Good text, from the slowest script to the fastest: on the CPU beside simdutf, and on the GPU, at the largest size, beside a copy."""
    good = SCRIPTS[:6]
    def figures(call, backend, algorithm, key):
        found = pick(rows, group=("utf8-scripts", "utf8-checks"), primitive=call[0], type=call[1], backend=backend, algorithm=algorithm,
                     distribution=good, mode=(None, "replace" if algorithm == "upsweep" else "strict"))
        largest = max((row["n"] for row in found), default=0)
        return {row["distribution"]: row[key] for row in found if row["n"] == largest}
    def span(found, cell):
        return f"{cell(min(found))} to {cell(max(found))}" if found else ""
    lines = []
    for name, *call in CALLS_ON_TEXT:
        cpu, peer = (figures(call, "cpu", who, "gb_per_s") for who in ("upsweep", "simdutf"))
        times = {script: cpu[script] / peer[script] for script in peer}
        lines.append([name, span(cpu.values(), rate), ratio(times.pop("ascii")) if times else "", span(times.values(), ratio)] +
                     [span(figures(call, "cuda", "upsweep", key).values(), cell) for key, cell in (("gb_per_s", rate), ("x_copy", ratio))])
    return table(["", "CPU, GB/s", "times simdutf: ASCII", "other scripts", "GPU, GB/s", "times a copy"], lines)


def text_times(rows):
    """Of short texts on the CPU: our time and the peer's, for each script and size."""
    at = {}
    for ours, peer in against_peers(pick(rows, backend="cpu", group=("utf8-scripts", "utf8-checks"), n={1 << k for k in (4, 6, 8, 10, 12)})):
        at[ours["distribution"], ours["n"], ours["primitive"], ours["type"]] = f"{time(ours['ms'])}, {time(peer['ms'])}"
    calls = [call for call in CALLS_ON_TEXT if any(key[2:] == call[1:] for key in at)]
    return table(["text", "bytes"] + [name for name, _, _ in calls],
                 [[script, size(n)] + [at.get((script, n, *call), "") for _, *call in calls]
                  for script in ("ascii", "french", "chinese") for n in sorted({key[1] for key in at}) if (script, n) in {key[:2] for key in at}])


def text_sizes(rows, backend):
    """Of good text to UTF-32, by its size."""
    wanted = pick(rows, group="utf8-size", backend=backend, algorithm="upsweep", n={1 << k for k in (3, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28)})
    at = {(row["distribution"], row["n"]): time(row["ms"]) for row in wanted}
    ns = sorted({n for _, n in at})
    return table(["text"] + [size(n) for n in ns],
                 [[script] + [at.get((script, n), "") for n in ns] for script in SCRIPTS if any(key[0] == script for key in at)])


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
        cells = [ratio(speed_up(ours, peer)) + ("" if ours["primitive"] == "sort" else f" ({ratio(ours['x_copy'])})")
                 for ours, peer in filter(None, pairs)]
        lines.append([size(n)] + cells + ([f"{text[n]['gb_per_s']:.0f} ({ratio(text[n]['x_copy'])})"] if n in text else []))
    return table(["elements, or bytes"] + [name for name, _, _ in columns] + (["UTF-8 to UTF-32, GB/s"] if text else []), lines)


def losses(rows, backend):
    """Each kind of call and input: at which sizes is a peer faster, and by how much at worst?"""
    groups = {}
    for ours, peer in against_peers(pick(rows, group=CALLS, backend=backend)):
        key = (ours["primitive"], TYPE[1](ours), f"{ours['keep']} %" if ours["keep"] is not None else "", ours["distribution"], ours["cache"])
        lost, all_sizes, worst = groups.setdefault(key, ([], [], [1.0, "", 0]))
        all_sizes.append(ours["n"])
        speed = speed_up(ours, peer)
        if speed < 1 - PEER_SLACK:
            lost.append(ours["n"])
            if speed < worst[0]:
                worst[:] = [speed, peer["algorithm"], ours["n"]]
    lines = [list(key) + [f"{len(set(lost))} of {len(set(all_sizes))}: {sizes(lost)}", worst[1], f"{ratio(worst[0])} at {size(worst[2])}"]
             for key, (lost, all_sizes, worst) in groups.items() if lost]
    if groups and not lines:
        return "Nowhere."
    head = ["call", "type", "kept", "input", "cache", "slower at", "than", "at worst, times as fast"]
    told = [i for i in range(len(head)) if {line[i] for line in lines} - {"", "uniform", "hot"}] # what differs from the usual somewhere
    return table([head[i] for i in told], [[line[i] for i in told] for line in lines])


def sweep(rows, backend):
    """Of all sizes of the sweep in a range: the least, the median and the best times as fast, and the sizes where a peer is faster."""
    lines = []
    for primitive in ("scan", "compact"):
        pairs = against_peers(pick(rows, group=f"{primitive}-sweep", backend=backend))
        for low, high in ((3, 10), (10, 16), (16, 20), (20, 24), (24, 28)):
            speeds = [(speed_up(ours, peer), ours["n"]) for ours, peer in pairs if 1 << low <= ours["n"] <= 1 << high]
            if speeds:
                lost = [n for speed, n in speeds if speed < 1 - PEER_SLACK]
                lines.append([primitive, f"2^{low} to 2^{high}", len(speeds), f"{ratio(min(speeds)[0])} at {min(speeds)[1]}",
                              ratio(statistics.median(speed for speed, _ in speeds)), ratio(max(speeds)[0]), len(lost)])
    return table(["call", "sizes", "how many", "at worst, times as fast", "median", "at best", "slower at"], lines)


def makers_of(machine, rows):
    def of_ladder(group, most):  # at the largest size up to `most` that has been measured
        return lambda: ladder(rows, group, max((row["n"] for row in pick(rows, group=group) if row["n"] <= most), default=0))

    makers = {
        "machine": lambda: machine_block(machine, rows),
        "ladder-scan": of_ladder("scan-size", 1 << 24), "ladder-compact": of_ladder("compact-size", 1 << 24),
        "ladder-sort": of_ladder("sort-size", 1 << 20), "ladder-utf8": of_ladder("utf8-steps", 1 << 24), "threads": lambda: threads(rows),
        "call-sizes": lambda: call_sizes(rows),
        "sort-kinds": lambda: kinds(rows, "sort"), "sort-kinds-stable": lambda: kinds(rows, "sort_pairs", "argsort"),
        "sort-kinds-names": lambda: kinds_names(rows), "sort-kinds-named": lambda: kinds_named(rows),
        "sort-kinds-spread": lambda: kinds_spread(rows), "sort-kinds-below": lambda: kinds_below(rows), "text-summary": lambda: text_summary(rows),
        "text-times-cpu": lambda: text_times(rows),
    }
    for algorithm in ("upsweep", "simdutf", "iconv"):
        makers[f"text-of-{algorithm}"] = lambda algorithm=algorithm: text_of(rows, algorithm)
    for backend, where in (("cuda", "gpu"), ("cpu", "cpu")):
        for maker in (scan, scans, compact, selects, sort, sorts, stable_sorts, sort_bits, cold, utf8, text_sizes, sweep, summary, losses):
            makers[f"{maker.__name__.replace('_', '-')}-{where}"] = lambda maker=maker, backend=backend: maker(rows, backend)
    return makers


def figure(page, name):
    """A figure that plot.py has drawn from the same run, if it has."""
    path = f"img/{name.removeprefix('figure-')}.svg"
    return f"![{path}]({path})" if os.path.exists(os.path.join(os.path.dirname(page), path)) else ""


def filled(page):
    text, runs = open(page).read(), {}
    for name, files in re.findall(r"<!-- begin (\S+) (\S+) -->", text):
        if files not in runs:
            runs[files] = makers_of(*read_all(os.path.join(os.path.dirname(page), file) for file in files.split(",")))
        made = figure(page, name) if name.startswith("figure-") else runs[files][name]()
        text = re.sub(rf"(<!-- begin {name} {re.escape(files)} -->\n).*?(<!-- end {name} -->)", lambda match: f"{match[1]}{made}\n{match[2]}",
                      text, flags=re.S)
    return text


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
        return write_new(sys.argv[2], sys.argv[3:])
    if sys.argv[1] == "--check":
        old = [page for page in sys.argv[2:] if filled(page) != open(page).read()]
        return f"tables.py: renew the tables of {', '.join(old)}" if old else None
    for page in sys.argv[1:]:
        text = filled(page)
        open(page, "w").write(text)


if __name__ == "__main__":
    sys.exit(main())
