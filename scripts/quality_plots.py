#!/usr/bin/env python3
"""CSV files of bench/quality -> NAME.md and NAME.svg.

quality_plots.py ablation CSV... -o NAME   what each part of the method brings, after the paper's Fig. 5: round robin, linear clustering, one pass
                                           without and with refinement, the presets; fifo against planned order. Free links and memory.
quality_plots.py memory CSV... -o NAME     makespan over the lower bound as memory gets tight (rows with memory FxP1/K), by method. fifo, free links.

A case counts where all its methods are there: in the ablation over the methods of --methods. Needs matplotlib.
"""
import argparse
import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from quality_table import UNSOLVED, add_made_on, geomean, made_on, number, over, own, read_runs, table

STEPS = {"rr": "round robin", "lc": "linear clustering", "published-unrefined": "one pass, no refinement", "published": "one pass",
         "fast": "pardnn, fast", "default": "pardnn, default", "strong": "pardnn, strong"}
CURVES = {"m-etf": "m-ETF", "published-unrefined": "one pass, no refinement; repair", "published": "one pass; repair", "fast": "pardnn, fast",
          "default": "pardnn, default", "strong": "pardnn, strong"}
COLORS = {"rr": "#bbbbbb", "lc": "#8c8c8c", "m-etf": "#8c8c8c", "published-unrefined": "#9ecae1", "published": "#3182bd", "fast": "#fdae6b",
          "default": "#e6550d", "strong": "#a63603"}

plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pardnn", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})


def save(figure, file):
    """As SVG, small: two decimals, no date."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    with open(file, "w", encoding="utf-8") as out:
        out.write(re.sub(r"(\d\.\d\d)\d+", r"\1", re.sub(r" +\n", "\n", text.getvalue())))


def ratio_text(values):
    """Geometric mean (least .. greatest)."""
    return f"{geomean(values):.3f} ({min(values):.3f} .. {max(values):.3f})" if values else "-"


def draw_bars(axis, at, heights, width, color, label):
    """As axis.bar, but all bars are one path: a tenth of the SVG."""
    left, right = [x - width / 2 for x in at], [x + width / 2 for x in at]
    bars = [Path([(l, 0), (l, h), (r, h), (r, 0), (l, 0)], closed=True) for l, r, h in zip(left, right, heights)]
    axis.add_patch(PathPatch(Path.make_compound_path(*bars), facecolor=color, linewidth=0, label=label))


class Ablation:
    """Cases of free links and memory that have every method of `methods`, by (policy, K)."""

    def __init__(self, runs, methods):
        self.methods = methods
        self.cases = {}
        for case, by_method in runs.items():
            if (case.links, case.memory) == ("free", "free") and all(m in by_method for m in methods):
                self.cases.setdefault((case.policy, case.K), {})[case.graph] = by_method
        if not self.cases:
            raise SystemExit("no case has all of " + ", ".join(methods))
        self.settings = sorted(self.cases)

    def mean(self, setting, method):
        return geomean(r[method].makespan / r[method].lower for r in self.cases[setting].values())

    def ratios(self, setting, above, below):
        return [r[above].makespan / r[below].makespan for r in self.cases[setting].values() if above in r and below in r]

    def steps_table(self):
        header = ["method"] + [f"{policy}, K = {k} ({len(self.cases[policy, k])})" for policy, k in self.settings]
        return table(header, [[STEPS[m]] + [number(self.mean(s, m)) for s in self.settings] for m in self.methods])

    def gains_table(self):
        """Makespan of one step over the next one."""
        pairs = [("lc", "published", "linear clustering / one pass"), ("rr", "published", "round robin / one pass"),
                 ("published-unrefined", "published", "one pass without / with refinement")]
        pairs += [(a, m, f"{STEPS[a]} / {STEPS[m]}") for m in self.methods if own(m) for a in ("rr", "lc", "published")]
        rows = [[text] + [ratio_text(self.ratios(s, a, b)) for s in self.settings] for a, b, text in pairs if a in self.methods and b in self.methods]
        return table(["makespan of"] + [f"{policy}, K = {k}" for policy, k in self.settings], rows)

    def order_table(self):
        rows = []
        devices = sorted({k for _, k in self.settings})
        for method in self.methods:
            cells = []
            for k in devices:
                fifo, planned = self.cases.get(("fifo", k), {}), self.cases.get(("priority", k), {})
                cells.append(ratio_text([fifo[g][method].makespan / planned[g][method].makespan for g in sorted(set(fifo) & set(planned))]))
            rows.append([STEPS[method]] + cells)
        return table(["fifo / planned order"] + [f"K = {k}" for k in devices], rows)

    def graphs_table(self):
        rows = [[f"{graph}", f"{policy}, K = {k}"] + [number(r[m].makespan / r[m].lower) for m in self.methods]
                for policy, k in self.settings for graph, r in sorted(self.cases[policy, k].items())]
        return table(["graph", "setting"] + [STEPS[m] for m in self.methods], rows, 2)

    def plot(self, file):
        graphs = sorted({g for by_graph in self.cases.values() for g in by_graph})
        figure, axes = plt.subplots(len(self.settings), 1, figsize=(9, 2.1 * len(self.settings)), sharex=True, squeeze=False)
        width = 0.85 / len(self.methods)
        for axis, setting in zip(axes[:, 0], self.settings):
            by_graph = self.cases[setting]
            top = 1.05 * max(min(r[m].makespan / r[m].lower, 3.0) for r in by_graph.values() for m in self.methods)
            for i, method in enumerate(self.methods):
                heights = [by_graph[g][method].makespan / by_graph[g][method].lower if g in by_graph else 0 for g in graphs] + [self.mean(setting, method)]
                at = [x + (i - (len(self.methods) - 1) / 2) * width for x in range(len(heights))]
                draw_bars(axis, at, heights, width, COLORS[method], STEPS[method])
                for x, height in zip(at, heights):
                    if height > top:
                        axis.text(x, top, f"{height:.1f}", fontsize=6, ha="center", va="bottom", rotation=90)
            axis.set_xlim(-0.6, len(graphs) + 0.6)
            axis.set_ylim(0.9, top)
            axis.set_ylabel(f"{setting[0]}, K = {setting[1]}\nmakespan / bound")
            axis.axhline(1, color="#999999", linewidth=0.6)
            axis.axvline(len(graphs) - 0.5, color="#999999", linewidth=0.6)
        axes[-1, 0].set_xticks(range(len(graphs) + 1), [g.removeprefix("pt-") for g in graphs] + ["geometric mean"], rotation=30, ha="right")
        figure.tight_layout(h_pad=0.5)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4, frameon=False)
        save(figure, file)


def ablation(arguments, runs):
    work = Ablation(runs, arguments.methods or [m for m in STEPS if any(m in r for r in runs.values())])
    work.plot(arguments.output + ".svg")
    with open(arguments.output + ".md", "w", encoding="utf-8") as out:
        out.write(f"# Ablation\n\n{made_on(arguments)}. Made by `bench/quality` and `scripts/quality_plots.py`.\n\n"
                  "Free links and memory. *One pass*: the published method, slicing, mapping and refinement. Planned order: policy `priority`, bottom levels where the\n"
                  "method plans none. In brackets: graphs; least and greatest.\n\n"
                  f"Makespan / lower bound, geometric mean:\n\n{work.steps_table()}\nWhat a step brings, ratio of makespans:\n\n{work.gains_table()}\n"
                  f"What planned order brings, ratio of makespans:\n\n{work.order_table()}\nEach graph:\n\n{work.graphs_table()}")


class MemoryCurve:
    """fifo and free links at `devices`: cases of memory FxP1/K that have every method and are not proven impossible, by F."""

    def __init__(self, runs, devices, methods):
        self.methods, self.cases, self.impossible = methods, {}, {}
        for case, by_method in runs.items():
            if (case.policy, case.links, case.K) != ("fifo", "free", devices) or not case.memory.endswith("xP1/K"):
                continue
            factor = float(case.memory.split("x")[0])
            if not all(m in by_method for m in methods):
                continue
            if any(r.verdict == "proven" for r in by_method.values()):
                self.impossible[factor] = self.impossible.get(factor, 0) + 1
            else:
                self.cases.setdefault(factor, {})[case.graph] = by_method
        if not self.cases:
            raise SystemExit("no case has all of " + ", ".join(methods))
        self.factors = sorted(self.cases, reverse=True)

    def mean(self, factor, method):
        return geomean(over(r[method], r[method].lower) for r in self.cases[factor].values())

    def fits(self, factor, method):
        return sum(r[method].verdict == "fits" for r in self.cases[factor].values())

    def table(self):
        rows = [[f"{f:g}", str(len(self.cases[f])), str(self.impossible.get(f, 0))] +
                [f"{self.mean(f, m):.3f} ({self.fits(f, m)})" for m in self.methods] for f in self.factors]
        return table(["f", "cases", "proven impossible"] + [CURVES[m] for m in self.methods], rows, 0)

    def plot(self, file, devices):
        figure, (mean, fits) = plt.subplots(1, 2, figsize=(9, 3.2))
        for method in self.methods:
            style = {"color": COLORS[method], "marker": "o", "markersize": 4, "label": CURVES[method]}
            mean.plot(self.factors, [self.mean(f, method) for f in self.factors], **style)
            fits.plot(self.factors, [100 * self.fits(f, method) / len(self.cases[f]) for f in self.factors], **style)
        for axis in (mean, fits):
            axis.set_xticks(self.factors, [f"{f:g}" for f in self.factors])
            axis.invert_xaxis()
            axis.set_xlabel(f"usable memory per device / (single-device peak / {devices})")
        mean.set_ylabel(f"makespan / lower bound ({UNSOLVED:g} if unsolved)")
        mean.set_yscale("log")
        mean.set_yticks([1, 1.5, 2, 3, 5, 10], ["1", "1.5", "2", "3", "5", "10"])
        mean.minorticks_off()
        fits.set_ylabel("% of cases that fit")
        fits.set_ylim(0, 103)
        figure.legend(*mean.get_legend_handles_labels(), loc="lower center", bbox_to_anchor=(0.5, 0.95), ncol=4, frameon=False)
        save(figure, file)


def memory(arguments, runs):
    tight = {case: r for case, r in runs.items() if case.memory.endswith("xP1/K") and case.K == arguments.devices}
    curve = MemoryCurve(runs, arguments.devices, arguments.methods or [m for m in CURVES if any(m in r for r in tight.values())])
    curve.plot(arguments.output + ".svg", arguments.devices)
    with open(arguments.output + ".md", "w", encoding="utf-8") as out:
        out.write(f"# Memory\n\n{made_on(arguments)}. Made by `bench/quality` and `scripts/quality_plots.py`.\n\n"
                  f"fifo, free links, K = {arguments.devices}, usable memory per device f x P1 / K, where P1 is the peak of the whole graph on one device. Geometric mean of\n"
                  f"makespan / lower bound over the cases that are not proven impossible, {UNSOLVED:g} where a method does not fit; in brackets: how many fit.\n\n{curve.table()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ablation", "memory"])
    parser.add_argument("csv", nargs="+")
    parser.add_argument("-o", "--output", required=True, metavar="NAME")
    parser.add_argument("--methods", type=lambda text: text.split(","), help="these, and only cases that have all of them (default: all known ones in the files)")
    parser.add_argument("--devices", type=int, default=4, help="K of the memory curve")
    add_made_on(parser)
    arguments = parser.parse_args()
    runs = read_runs(arguments.csv)
    (ablation if arguments.what == "ablation" else memory)(arguments, runs)


if __name__ == "__main__":
    main()
