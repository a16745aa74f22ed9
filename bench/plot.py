#!/usr/bin/env python3
"""Draws the figures of docs/performance.md from the JSON lines of upsweep-bench, as SVG and PNG.

    python3 bench/plot.py RUN.jsonl [--out docs/img] [--prefix cpu-]

Each figure is one function, drawn if the run has the rows for it. Colours are those of Okabe and Ito, which colour-blind readers can tell
apart; dashes are the CPU, full lines the GPU; lines carry their names at their ends. Needs Matplotlib.
"""
import argparse
import json
import math
import os
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

ORANGE, SKY, GREEN, BLUE, RED, PINK, BLACK, GREY = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#000000", "#808080"
COLOURS = {
    "upsweep": RED, "cub": BLACK, "thrust": GREY, "naive": ORANGE, "work-efficient": SKY, "packed-threads": BLUE, "working-threads": GREEN,
    "shared-memory": PINK, "split": ORANGE, "serial": BLACK, "threaded-naive": ORANGE, "std::exclusive_scan": SKY, "std::copy_if": SKY,
    "std::sort": SKY, "qsort": GREY, "without-scan": BLACK, "with-scan": BLUE, "tbb-exclusive_scan": GREEN, "tbb-copy_if": GREEN,
    "tbb-sort": GREEN,
}
PARTS = [("map_ms", "map", SKY), ("scan_ms", "scan", BLUE), ("scatter_ms", "scatter", ORANGE)]

plt.rcParams.update({
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#E4E4E4", "grid.linewidth": 0.6,
    "axes.axisbelow": True, "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left", "lines.linewidth": 1.4,
    "svg.hashsalt": "upsweep", "svg.fonttype": "none", "figure.constrained_layout.use": True, "figure.dpi": 100,
})


# ---- the run ----

class Run:
    def __init__(self, path):
        self.machine, self.rows = {}, []
        with open(path) as lines:
            for line in lines:
                row = json.loads(line)
                if "machine" in row:
                    self.machine.update(row["machine"])
                else:
                    self.rows.append(row)

    def where(self, **wanted):
        return [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]

    def curves(self, rows, x="n", y=lambda row: row["ms"]):
        """{(backend, algorithm): sorted [(x, y)]}"""
        curves = defaultdict(list)
        for row in rows:
            if row[x] is not None and y(row) is not None:
                curves[row["backend"], row["algorithm"]].append((row[x], y(row)))
        return {key: sorted(points) for key, points in curves.items()}

    def foot(self):
        date, commit = (self.rows[0]["date"], self.rows[0]["commit"]) if self.rows else ("", "")
        machine = self.machine
        cpu = f"{machine.get('cpu', '?')} ({machine.get('threads', '?')} threads, {machine.get('instructions', '?')})"
        versions = sorted({row["peer_version"] for row in self.rows if row["peer_version"]})
        gpu = f"{machine['gpu']}, " if "gpu" in machine else ""
        return f"{gpu}{cpu}; {date}, commit {commit}; " + ", ".join(versions)


def is_power_of_two(n):
    return n & (n - 1) == 0


# ---- axes ----

def power_label(n, _=None):
    if n <= 0:
        return ""
    power = math.log2(n)
    return f"$2^{{{round(power)}}}$" if abs(power - round(power)) < 1e-6 else ""


def time_label(ms, _=None):
    for unit, scale in (("s", 1e-3), ("ms", 1), ("µs", 1e3), ("ns", 1e6)):
        if ms * scale >= 0.999:
            return f"{ms * scale:.4g} {unit}"
    return f"{ms * 1e6:.2g} ns"


def log_x(ax, label="elements", every=4):
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(LogLocator(base=2.0 ** every, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(power_label))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(label)


def log_time(ax):
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(time_label))
    ax.yaxis.set_minor_formatter(NullFormatter())


def style(backend, algorithm):
    ours = algorithm == "upsweep"
    return {"color": COLOURS.get(algorithm, GREY), "linestyle": "--" if backend == "cpu" else "-", "linewidth": 2.2 if ours else 1.3,
            "zorder": 4 if ours else 3}


def name_of(backend, algorithm, both):
    return f"{algorithm} ({'CPU' if backend == 'cpu' else 'GPU'})" if both else algorithm


def label_ends(ax, ends, gap=10.5):
    """Names at the right end of each line, pushed apart so that none covers another. ends: [(x, y, text, colour)]"""
    ax.figure.canvas.draw()
    last = max(x for x, _, _, _ in ends)
    label_column(ax, last, [end for end in ends if end[0] == last], gap)
    early = sorted(end for end in ends if end[0] < last)
    for i, (x, y, text, colour) in enumerate(early):  # above their ends, where the names of the others are not, in steps
        ax.annotate(text.strip(), xy=(x, y), xytext=(0, 4 + 9 * i), textcoords="offset points", color=colour, fontsize=7.5, ha="right")


def label_column(ax, right, ends, gap):
    placed = sorted(((ax.transData.transform((x, y))[1], x, y, text, colour) for x, y, text, colour in ends), reverse=True)
    heights, ceiling = [], ax.transAxes.transform((0, 1))[1] + gap
    for height, *_ in placed:
        ceiling = min(height, ceiling - gap)
        heights.append(ceiling)
    floor = ax.transAxes.transform((0, 0))[1]
    for i in range(len(heights) - 1, -1, -1):  # what was pushed out below comes back up
        heights[i] = max(heights[i], floor)
        floor = heights[i] + gap
    for height, (_, x, y, text, colour) in zip(heights, placed):
        at = ax.transData.inverted().transform((0, height))[1]
        ax.annotate(text, xy=(right, at), color=colour, fontsize=7.5, va="center", ha="left", annotation_clip=False)


def draw_curves(ax, curves, both=True, names=True):
    ends = []
    for (backend, algorithm), points in curves.items():
        xs, ys = zip(*points)
        look = style(backend, algorithm)
        ax.plot(xs, ys, **look)
        ends.append((xs[-1], ys[-1], "  " + name_of(backend, algorithm, both), look["color"]))
    if names:
        label_ends(ax, ends)


def save(fig, run, options, name):
    fig.supxlabel(run.foot(), fontsize=6.5, color="#606060", x=0.01, ha="left")
    for kind in ("svg", "png"):
        path = os.path.join(options.out, f"{options.prefix}{name}.{kind}")
        fig.savefig(path, metadata={"Date": None} if kind == "svg" else None, dpi=110)
    plt.close(fig)
    print(f"{options.prefix}{name}")


# ---- the figures ----

def time_against_size(run, options, group, name, title):
    """Log-log; dots where the size is no power of two."""
    rows = run.where(group=group)
    if len({row["n"] for row in rows}) < 3:
        return
    both = len({row["backend"] for row in rows}) > 1
    fig, ax = plt.subplots(figsize=(8.4, 5.2))
    log_x(ax)
    log_time(ax)
    for (backend, algorithm), points in run.curves([row for row in rows if not is_power_of_two(row["n"])]).items():
        xs, ys = zip(*points)
        ax.plot(xs, ys, "o", markersize=3.2, markerfacecolor="white", markeredgecolor=COLOURS.get(algorithm, GREY), zorder=5)
    draw_curves(ax, run.curves([row for row in rows if is_power_of_two(row["n"])]), both)
    ax.set_title(title)
    save(fig, run, options, name)


def scan_size(run, options):
    time_against_size(run, options, "scan-size", "scan-size", "Scan of i32: time against size (dots: three elements less than a power of two)")


def compact_size(run, options):
    time_against_size(run, options, "compact-size", "compact-size", "Compaction of i32, half kept: time against size")


def sort_size(run, options):
    time_against_size(run, options, "sort-size", "sort-size", "Sort of i32: time against size")


def speed_up(run, options):
    rows = [row for row in run.where(group="scan-size") if is_power_of_two(row["n"])]
    serial = {row["n"]: row["ms"] for row in rows if row["algorithm"] == "serial"}
    rows = [row for row in rows if row["backend"] == "cuda" and row["n"] in serial]
    if not rows:
        return
    fig, ax = plt.subplots(figsize=(8.4, 4.6))
    log_x(ax)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}x"))
    ax.axhline(1, color=BLACK, linewidth=0.8)
    draw_curves(ax, run.curves(rows, y=lambda row: serial[row["n"]] / row["ms"]), both=False)
    ax.set_title("GPU scans of i32: speed-up over the serial CPU loop")
    save(fig, run, options, "scan-speedup")


def block_size(run, options):
    rows = run.where(group="block-size")
    sizes = sorted({row["n"] for row in rows})
    if not sizes:
        return
    fig, axes = plt.subplots(1, len(sizes), figsize=(9.6, 4.2), squeeze=False)
    for ax, n in zip(axes[0], sizes):
        log_x(ax, "threads a block", every=1)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f}"))
        log_time(ax)
        draw_curves(ax, run.curves([row for row in rows if row["n"] == n], x="block_size"), both=False)
        ax.set_title(f"{power_label(n)} elements")
    save(fig, run, options, "block-size")


def compact_parts(run, options):
    """The shares of map, scan and scatter; the library has one pass."""
    rows = [row for row in run.where(group="compact-size") if row["map_ms"] is not None or row["algorithm"] == "upsweep"]
    sizes = [n for n in (1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28) if any(row["n"] == n for row in rows)]
    wanted = [key for key in (("cpu", "with-scan"), ("cuda", "naive"), ("cuda", "work-efficient"), ("cuda", "shared-memory"),
                              ("cuda", "upsweep"), ("cpu", "upsweep"))
              if any((row["backend"], row["algorithm"]) == key for row in rows)]
    if not sizes:
        return
    fig, axes = plt.subplots(1, len(sizes), figsize=(2.0 * len(sizes) + 2.2, 4.0), sharey=True, squeeze=False)
    for ax, n in zip(axes[0], sizes):
        for i, (backend, algorithm) in enumerate(wanted):
            row = next((row for row in rows if (row["n"], row["backend"], row["algorithm"]) == (n, backend, algorithm)), None)
            if row is None:
                continue
            whole, bottom = sum(row[part] or 0 for part, _, _ in PARTS), 0
            for part, label, colour in PARTS:
                share = (row[part] or 0) / whole if whole else 0
                ax.bar(i, share, bottom=bottom, color=colour, width=0.75, label=label if i == 0 else None)
                bottom += share
            if not whole:
                ax.bar(i, 1, color=RED, width=0.75)
                ax.text(i, 0.5, "one pass", rotation=90, ha="center", va="center", color="white", fontsize=7.5)
            ax.text(i, 1.01, time_label(row["ms"]), ha="center", va="bottom", fontsize=6, rotation=45)
        ax.set_xticks(range(len(wanted)), [name_of(*key, True) for key in wanted], rotation=90, fontsize=7)
        ax.set_ylim(0, 1.18)
        ax.set_title(f"{power_label(n)} elements", fontsize=8.5, pad=12)
        ax.grid(False)
    axes[0][0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.0f} %" if y <= 1 else ""))
    axes[0][-1].legend(*axes[0][0].get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=7, frameon=False)
    save(fig, run, options, "compact-parts")


def sort_bits(run, options):
    rows = run.where(group="sort-bits", n=1 << 20)
    rows = [row for row in rows if len({r["num_bits"] for r in rows if (r["backend"], r["algorithm"]) == (row["backend"], row["algorithm"])}) > 2]
    if not rows:
        return
    fig, ax = plt.subplots(figsize=(7.2, 4.2))
    log_time(ax)
    ax.set_xticks(range(0, 33, 4))
    ax.set_xlabel("bits sorted by")
    draw_curves(ax, run.curves(rows, x="num_bits"), len({row["backend"] for row in rows}) > 1)
    ax.set_title(f"Sort of i32, {power_label(rows[0]['n'])} elements: time against the number of bits")
    save(fig, run, options, "sort-bits")


def x_copy(run, options):
    """How close to a copy of the same bytes: the library and its closest peers, for scan and for three shares kept."""
    for backend, name in (("cuda", "x-copy"), ("cpu", "x-copy-cpu")):
        panels = [("scan", run.where(group="scan-calls", backend=backend))]
        panels += [(f"compact, {keep} % kept", run.where(group="compact-calls", backend=backend, keep=keep)) for keep in (10, 50, 90)]
        panels = [(title, [row for row in rows if is_power_of_two(row["n"]) and row["n"] >= 1 << 10]) for title, rows in panels]
        if not all(rows for _, rows in panels):
            continue
        fig, axes = plt.subplots(1, 4, figsize=(12, 3.8), sharey=True)
        for ax, (title, rows) in zip(axes, panels):
            log_x(ax)
            ax.axhline(1, color=BLACK, linewidth=0.8)
            ax.set_ylim(0, 1.25)
            draw_curves(ax, run.curves(rows, y=lambda row: row["x_copy"]), both=False)
            ax.set_title(title)
        axes[0].set_ylabel("speed, as a share of a copy of the same bytes")
        save(fig, run, options, name)


def latency(run, options):
    for backend, name in (("cuda", "latency"), ("cpu", "latency-cpu")):
        panels = [(title, [row for row in run.where(group=group, backend=backend)
                           if row["n"] <= 1 << 16 and is_power_of_two(row["n"]) and row["keep"] in (None, 50)])
                  for title, group in (("scan", "scan-calls"), ("compact, half kept", "compact-calls"), ("sort, u32", "sort-calls"))]
        panels = [panel for panel in panels if panel[1]]
        if not panels:
            continue
        fig, axes = plt.subplots(1, len(panels), figsize=(3.6 * len(panels), 3.8), squeeze=False)
        for ax, (title, rows) in zip(axes[0], panels):
            log_x(ax)
            curves = run.curves(rows)
            if backend == "cuda":
                ax.set_ylim(0, 1.1 * max(y for points in curves.values() for _, y in points))
                ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{1e3 * y:.3g} µs"))
            else:
                log_time(ax)
            draw_curves(ax, curves, both=False)
            ax.set_title(title)
        save(fig, run, options, name)


def threads(run, options):
    rows = run.where(group="threads")
    if len({row["threads"] for row in rows}) < 2:
        return
    fig, ax = plt.subplots(figsize=(6.4, 4.2))
    ends = []
    for primitive, colour in (("scan", RED), ("compact", BLUE), ("sort", GREEN)):
        points = sorted((row["threads"], row["ms"]) for row in rows if row["primitive"] == primitive)
        xs, ys = [x for x, _ in points], [points[0][1] / y for _, y in points]
        ax.plot(xs, ys, "o-", color=colour, markersize=4)
        ends.append((xs[-1], ys[-1], "  " + primitive, colour))
    most = max(row["threads"] for row in rows)
    ax.plot([1, most], [1, most], color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xticks(sorted({row["threads"] for row in rows}))
    ax.set_xlabel("CPU threads")
    ax.set_ylabel("times as fast as one thread")
    label_ends(ax, ends)
    ax.set_title(f"The library on the CPU, {power_label(rows[0]['n'])} elements")
    save(fig, run, options, "threads")


FIGURES = [scan_size, speed_up, block_size, compact_size, compact_parts, sort_size, sort_bits, x_copy, latency, threads]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("--out", default="docs/img")
    parser.add_argument("--prefix", default="", help="put before the names of the files")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    run = Run(options.run)
    for figure in FIGURES:
        figure(run, options)


if __name__ == "__main__":
    main()
