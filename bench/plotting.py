"""What the figures of plot.py share: the rows of a run, axes, looks, and names at the ends of lines.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; dashes are the CPU, full lines the GPU.
"""
import math
import os
import textwrap
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rows import read_all

ORANGE, SKY, GREEN, BLUE, RED, PINK, BLACK, GREY = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#000000", "#808080"
COLOURS = {
    "upsweep": RED, "cub": BLACK, "thrust": GREY, "naive": ORANGE, "work-efficient": SKY, "packed-threads": BLUE, "working-threads": GREEN,
    "shared-memory": PINK, "split": ORANGE, "serial": BLACK, "threaded-naive": ORANGE, "std::exclusive_scan": SKY, "std::copy_if": SKY,
    "std::sort": SKY, "qsort": GREY, "without-scan": BLACK, "with-scan": BLUE, "tbb-exclusive_scan": GREEN, "tbb-copy_if": GREEN,
    "tbb-sort": GREEN, "simdutf": BLUE, "iconv": GREY,
}
PARTS = [("map_ms", "map", SKY), ("scan_ms", "scan", BLUE), ("scatter_ms", "scatter", ORANGE)]

plt.rcParams.update({
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#E4E4E4", "grid.linewidth": 0.6,
    "axes.axisbelow": True, "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left", "lines.linewidth": 1.4,
    "svg.hashsalt": "upsweep", "svg.fonttype": "none", "figure.constrained_layout.use": True, "figure.dpi": 100,
})


# ---- the run ----

class Run:
    def __init__(self, paths):
        self.machine, self.rows = read_all(paths)
        self.shown = []  # rows asked for since the last figure was saved

    def where(self, **wanted):
        rows = [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]
        self.shown += rows
        return rows

    def curves(self, rows, x="n", y=lambda row: row["ms"]):
        """{(backend, algorithm): sorted [(x, y)]}"""
        curves = defaultdict(list)
        for row in rows:
            if row[x] is not None and y(row) is not None:
                curves[row["backend"], row["algorithm"]].append((row[x], y(row)))
        return {key: sorted(points) for key, points in curves.items()}

    def foot(self):
        """Where and when the rows of a figure were measured, of which commits, and beside whom."""
        rows, self.shown = self.shown, []
        machine, backends = self.machine, {row["backend"] for row in rows}
        threads = machine.get("threads", "?")
        gpu = [machine["gpu"]] if "cuda" in backends and "gpu" in machine else []
        cpu = [f"{machine.get('cpu', '?')} ({threads} thread{'' if threads == 1 else 's'}, {machine.get('instructions', '?')})"] if "cpu" in backends else []
        dates, commits, peers = (", ".join(sorted({row[key] for row in rows if row[key]})) for key in ("date", "commit", "peer_version"))
        return "; ".join(filter(None, [", ".join(gpu + cpu), dates, f"commit {commits}", peers]))


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
    foot = textwrap.fill(run.foot(), int(20 * fig.get_figwidth()))  # so many characters of this size fit an inch
    fig.supxlabel(foot, fontsize=6.5, color="#606060", x=0.01, ha="left")
    fig.savefig(os.path.join(options.out, f"{options.prefix}{name}.svg"), metadata={"Date": None})
    plt.close(fig)
    print(f"{options.prefix}{name}")
