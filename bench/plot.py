#!/usr/bin/env python3
"""Draws the figures of docs/performance.md from the JSON lines of upsweep-bench, as SVG and PNG.

    python3 bench/plot.py RUN.jsonl... [--out docs/img] [--prefix epyc-] [--only utf8,threads]

Each figure is one function, drawn if the runs have the rows for it. Needs Matplotlib.
"""
import argparse
import os

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from plotting import (BLACK, BLUE, COLOURS, GREEN, GREY, PARTS, PINK, RED, Run, draw_curves, is_power_of_two, label_ends, log_time, log_x,
                      name_of, power_label, save, time_label)


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


def limit_to_fastest(ax, panels):
    """Speeds as a share of a copy's: a call may be faster than that, and panels have one axis."""
    ax.set_ylim(0, 1.05 * max(row["x_copy"] for _, rows in panels for row in rows if row["x_copy"] is not None))


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
            limit_to_fastest(ax, panels)
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
    for primitive, colour in (("scan", RED), ("compact", BLUE), ("sort", GREEN), ("utf8_decode", PINK)):
        points = sorted((row["threads"], row["ms"]) for row in rows if row["primitive"] == primitive)
        if not points:
            continue
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


SCRIPTS = ("ascii", "french", "russian", "chinese", "emoji", "mixed", "bad", "random")
CONVERSIONS = (("utf8_decode", "utf32", "UTF-8 to UTF-32"), ("utf8_decode", "utf16le", "UTF-8 to UTF-16"),
               ("utf8_encode", "utf32", "UTF-32 to UTF-8"), ("utf8_encode", "utf16le", "UTF-16 to UTF-8"))
SERIES = (("upsweep", "replace", "upsweep, replace", RED), ("upsweep", "strict", "upsweep, strict", "#F2A27A"),
          ("upsweep", "remove", "upsweep, remove", PINK), ("simdutf", "strict", "simdutf (strict)", BLUE), ("iconv", "strict", "iconv (strict)", GREY))


def draw_bars(ax, rows, series, show_copy):
    """A group of bars for each script; a black line at the speed of a copy of the same bytes."""
    width = 0.84 / len(series)
    for i, (algorithm, mode, label, colour) in enumerate(series):
        at = {row["distribution"]: row for row in rows if (row["algorithm"], row["mode"]) == (algorithm, mode)}
        xs = [x for x, script in enumerate(SCRIPTS) if script in at]
        ax.bar([x + (i - (len(series) - 1) / 2) * width for x in xs], [at[SCRIPTS[x]]["gb_per_s"] for x in xs], width, color=colour, label=label)
        for x in xs if show_copy and i == 0 else []:
            copy = at[SCRIPTS[x]]["gb_per_s"] / at[SCRIPTS[x]]["x_copy"]
            ax.plot([x - 0.42, x + 0.42], [copy, copy], color=BLACK, linewidth=1.2, label="a copy of the same bytes" if x == xs[0] else None)
    ax.set_xticks(range(len(SCRIPTS)), SCRIPTS, rotation=45, ha="right", fontsize=7.5)
    ax.grid(axis="x", visible=False)


def utf8(run, options):
    """Throughput by script and mode; on the GPU the largest texts, on the CPU some that fit its caches."""
    for backend, name in (("cuda", "utf8-gpu"), ("cpu", "utf8-cpu")):
        rows = [row for group in ("utf8-scripts", "utf8-remove") for row in run.where(group=group, backend=backend)]
        if not rows:
            continue
        n = (max if backend == "cuda" else min)(row["n"] for row in rows)
        rows = [row for row in rows if row["n"] == n]
        series = [one for one in SERIES if any((row["algorithm"], row["mode"]) == one[:2] for row in rows)]
        fig, axes = plt.subplots(2, 2, figsize=(10.4, 6.4))
        for ax, (primitive, encoding, title) in zip(axes.flat, CONVERSIONS):
            draw_bars(ax, [row for row in rows if (row["primitive"], row["type"]) == (primitive, encoding)], series, backend == "cuda")
            ax.set_title(title)
            ax.set_ylabel("GB/s of UTF-8")
        axes.flat[0].legend(fontsize=7, frameon=False)
        threads = max(row["threads"] or 0 for row in rows)
        where = "on the GPU" if backend == "cuda" else f"on the CPU, the library with {threads} threads" if threads > 1 else "on the CPU"
        fig.suptitle(f"{power_label(n)} bytes of text, {where}", fontsize=10, x=0.01, ha="left")
        save(fig, run, options, name)


def utf8_size(run, options):
    """Throughput against size, log-log, of good text: of the group for it, or of a run by script at many sizes."""
    rows = run.where(group="utf8-size") or run.where(group="utf8-scripts", primitive="utf8_decode", type="utf32")
    rows = [row for row in rows if is_power_of_two(row["n"])]
    scripts = [script for script in ("ascii", "chinese", "mixed") if any(row["distribution"] == script for row in rows)]
    if not scripts or len({row["n"] for row in rows}) < 4:
        return
    fig, axes = plt.subplots(1, len(scripts), figsize=(4.2 * len(scripts), 4.2), sharey=True, squeeze=False)
    for ax, script in zip(axes[0], scripts):
        log_x(ax, "bytes of text")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        draw_curves(ax, run.curves([row for row in rows if row["distribution"] == script], y=lambda row: row["gb_per_s"]),
                    len({row["backend"] for row in rows}) > 1)
        ax.set_title(f"UTF-8 to UTF-32, {script}")
    axes[0][0].set_ylabel("GB/s of UTF-8")
    save(fig, run, options, "utf8-size")


def sweep(run, options):
    """As x_copy, at sizes close to one another."""
    for backend, name in (("cuda", "sweep"), ("cpu", "sweep-cpu")):
        panels = [("scan, i32", run.where(group="scan-sweep", backend=backend)),
                  ("compact, i32, half kept", run.where(group="compact-sweep", backend=backend))]
        if not all(rows for _, rows in panels):
            continue
        fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
        for ax, (title, rows) in zip(axes, panels):
            log_x(ax)
            ax.axhline(1, color=BLACK, linewidth=0.8)
            limit_to_fastest(ax, panels)
            draw_curves(ax, run.curves([row for row in rows if row["x_copy"] is not None], y=lambda row: row["x_copy"]), both=False)
            ax.set_title(title)
        axes[0].set_ylabel("speed, as a share of a copy of the same bytes")
        save(fig, run, options, name)


FIGURES = [scan_size, speed_up, block_size, compact_size, compact_parts, sort_size, sort_bits, x_copy, latency, utf8, utf8_size, threads, sweep]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", nargs="+")
    parser.add_argument("--out", default="docs/img")
    parser.add_argument("--prefix", default="", help="put before the names of the files")
    parser.add_argument("--only", default=",".join(figure.__name__ for figure in FIGURES), help="these figures (names of functions)")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    run = Run(options.run)
    for figure in FIGURES:
        if figure.__name__ in options.only.split(","):
            figure(run, options)


if __name__ == "__main__":
    main()
