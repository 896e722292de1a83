#!/usr/bin/env python3
"""CSV files of bench/quality -> Markdown: quality_table.py CSV... [--envelope FILE] > TABLE.md

For each policy, link model and memory: geometric means over the bounds by graph family, the worst case, the ratio to the best of the others,
how many cases fit, CPU seconds. With --envelope (columns graph, K, policy, links, best_makespan_ns, lower_bound_ns): the same against the best
makespan that any peer reached. Where a row comes twice, the later file wins. Needs nothing but Python.
"""
import argparse
import collections
import csv
import math
import os
import pathlib
import subprocess
import sys

FAMILIES = ("pt", "tf", "msr", "wf", "stg", "planted")
POLICIES, LINKS = ("fifo", "priority"), ("free", "ports")
UNSOLVED = 10.0  # what a run that does not fit counts where nothing is proven, as a ratio to the bound
FAR = 1.05       # envelope over bound from which on there is a distance to close

Case = collections.namedtuple("Case", "graph K policy links memory")
Run = collections.namedtuple("Run", "makespan lower best_bound verdict cpu nodes")


def own(method):
    """Whether it is one of pardnn's presets."""
    return method.split("-")[0] in ("fast", "default", "strong")


def memory_text(text):
    """`free`, `1.5xP1/K`, `1.1xbound`; a bare number is what bench/quality wrote for P1/K at first."""
    try:
        factor = float(text)
    except ValueError:
        return text
    return f"{factor:g}xP1/K" if factor > 0 else "free"


def memory_order(text):
    """Sorts free memory first, then more before less."""
    if text == "free":
        return (0, "", 0.0)
    factor, unit = text.split("x", 1)
    return (1, unit, -float(factor))


def read_runs(files):
    """Case -> method -> Run. What one method proves impossible is so for all."""
    runs = collections.defaultdict(dict)
    for file in files:
        with open(file, newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                case = Case(row["graph"], int(row["K"]), row["policy"], row["links"], memory_text(row["memory"]))
                verdict = row.get("verdict") or ("fits" if row["feasible"] == "1" else "proven" if "cannot fit" in row["origin"] else "open")
                best = int(row["best_bound_ns"]) if row.get("best_bound_ns") else None
                runs[case][row["method"]] = Run(int(row["makespan_ns"]), int(row["lower_bound_ns"]), best, verdict, float(row["cpu_s"]), int(row["nodes"]))
    impossible = {case._replace(policy="", links="") for case, by_method in runs.items() if any(r.verdict == "proven" for r in by_method.values())}
    for case, by_method in runs.items():
        if case._replace(policy="", links="") not in impossible:
            continue
        wrong = [m for m, r in by_method.items() if r.verdict == "fits"]
        if wrong:
            raise SystemExit(f"{case}: proven impossible, but {wrong[0]} fits")
        by_method.update({m: r._replace(verdict="proven") for m, r in by_method.items()})
    return runs


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def over(run, bound):
    """Makespan over a bound; UNSOLVED where it does not fit; None where nothing can or the bound is not known."""
    if run.verdict == "proven" or not bound:
        return None
    return run.makespan / bound if run.verdict == "fits" else UNSOLVED


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def mean_text(values, cases):
    """Geometric mean, with how many of the cases have a value where some have not."""
    values = [v for v in values if v is not None]
    few = f" ({len(values)}/{cases})" if 0 < len(values) < cases else ""
    return number(geomean(values)) + few


def name(case):
    return f"{case.graph} K={case.K}"


def table(header, rows, left=1):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * left + "--:|" * (len(header) - left)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def methods_of(runs):
    """Baselines in the order of the files, then pardnn's presets."""
    found = dict.fromkeys(m for by_method in runs.values() for m in by_method)
    return [m for m in found if not own(m)] + [m for m in found if own(m)]


def families_of(runs):
    found = {case.graph.split("-")[0] for case in runs}
    return [f for f in FAMILIES if f in found] + sorted(found - set(FAMILIES))


def best_other(by_method, method):
    """Least makespan that fits among the others; for one of pardnn's presets, the other presets are no others."""
    return min((r.makespan for m, r in by_method.items() if m != method and r.verdict == "fits" and not (own(m) and own(method))), default=None)


def bounds_row(runs, possible, method, families):
    """One method over the bounds: by family, all, over the best bound, worst case."""
    mine = {case: runs[case][method] for case in possible if method in runs[case]}
    cells = []
    for family in families + [None]:
        of_family = [case for case in possible if family in (None, case.graph.split("-")[0])]
        cells.append(mean_text([over(mine[case], mine[case].lower) if case in mine else None for case in of_family], len(of_family)))
    cells.append(mean_text([over(mine[case], mine[case].best_bound) if case in mine else None for case in possible], len(possible)))
    worst = max(((over(run, run.lower), case) for case, run in mine.items() if over(run, run.lower) is not None), default=None)
    cells.append(f"{worst[0]:.3f} {name(worst[1])}" if worst else "-")
    return [method] + cells


def others_row(runs, possible, method):
    """One method against the best of the others, what fits, and its CPU seconds."""
    ratios, fits, tried, cpu = [], 0, 0, 0.0
    for case in possible:
        run = runs[case].get(method)
        if run is None:
            continue
        tried += 1
        cpu += run.cpu
        fits += run.verdict == "fits"
        other = best_other(runs[case], method)
        if run.verdict == "fits" and other:
            ratios.append((run.makespan / other, case))
    worst = max(ratios, default=None)
    behind = sum(ratio > 1 for ratio, _ in ratios)
    return [method, number(geomean(r for r, _ in ratios)), f"{worst[0]:.3f} {name(worst[1])}" if worst else "-", f"{behind}/{len(ratios)}",
            f"{fits}/{tried}", f"{cpu:.1f}"]


def setting_section(runs, policy, links, memory):
    chosen = {case: by_method for case, by_method in runs.items() if (case.policy, case.links, case.memory) == (policy, links, memory)}
    if not chosen:
        return ""
    possible = [case for case, by_method in chosen.items() if all(r.verdict != "proven" for r in by_method.values())]
    impossible = len(chosen) - len(possible)
    families = families_of(chosen)
    methods = methods_of(chosen)
    text = f"### {policy}, links {links}, memory {memory}\n\n{len(chosen)} cases"
    text += f", {impossible} of them proven impossible and left out below.\n\n" if impossible else ".\n\n"
    text += table(["method"] + families + ["all", "all / best bound", "worst case"], [bounds_row(chosen, possible, m, families) for m in methods]) + "\n"
    text += table(["method", "/ best other", "worst / best other", "behind", "fit", "CPU s"], [others_row(chosen, possible, m) for m in methods])
    return text + "\n"


def read_envelope(file):
    """Case -> (makespan, lower bound), memory free."""
    with open(file, newline="", encoding="utf-8") as stream:
        return {Case(r["graph"], int(r["K"]), r["policy"], r["links"], "free"): (int(r["best_makespan_ns"]), int(r["lower_bound_ns"]))
                for r in csv.DictReader(stream)}


def closed(ours, envelope):
    """Share of the distance from the envelope to the bound that is closed."""
    return None if not ours or geomean(envelope) <= 1 else 1 - (geomean(ours) - 1) / (geomean(envelope) - 1)


def envelope_row(cases, method, policy, links):
    """`cases`: (case, run, envelope's makespan)."""
    ratios = sorted(((run.makespan / makespan, case) for case, run, makespan in cases), reverse=True)
    below = sum(ratio <= 1 for ratio, _ in ratios)
    far = [(run, makespan) for case, run, makespan in cases if makespan / run.lower > FAR and not (case.graph.startswith("planted") and links == "ports")]
    cells = [f"{policy}, {links}", method, f"{below}/{len(ratios)}", number(100 * below / len(ratios), 1) + " %", number(geomean(r for r, _ in ratios), 4),
             f"{ratios[0][0]:.4f} {name(ratios[0][1])}", str(len(far))]
    for bound in ("lower", "best_bound"):
        known = [(getattr(run, bound), run.makespan, makespan) for run, makespan in far]
        if not known or any(b is None for b, _, _ in known):
            cells += ["-", "-"]
            continue
        ours, theirs = [m / b for b, m, _ in known], [e / b for b, _, e in known]
        share = closed(ours, theirs)
        cells += [f"{geomean(ours):.4f} / {geomean(theirs):.4f}", "-" if share is None else f"{100 * share:.1f} %"]
    return cells


def envelope_section(runs, envelope, listed):
    rows, above = [], []
    for policy in POLICIES:
        for links in LINKS:
            for method in methods_of(runs):
                cases = [(case, runs[case][method], makespan) for case, (makespan, _) in envelope.items()
                         if (case.policy, case.links) == (policy, links) and method in runs.get(case, {})]
                for case, run, _ in cases:
                    if run.lower != envelope[case][1]:
                        raise SystemExit(f"{case}: lower bound {run.lower}, but {envelope[case][1]} in the envelope: not the same graph or machine")
                if not cases:
                    continue
                rows.append(envelope_row(cases, method, policy, links))
                if own(method):
                    above += [(run.makespan / makespan, method, case) for case, run, makespan in cases if run.makespan > makespan]
    if not rows:
        return ""
    text = "### Against the envelope of the peers\n\n"
    text += f"Far: rows whose envelope is above {FAR} x the lower bound (planted under ports left out: no optimum is known there). Closed: 1 - (ours - 1) / (envelope - 1), geometric means over the bound.\n\n"
    text += table(["setting", "method", "at most it", "share", "/ envelope", "worst", "far", "ours / envelope over lower bound", "closed", "over best bound", "closed"], rows, 2) + "\n"
    if above and listed:
        above.sort(reverse=True)
        text += f"Rows above it, worst first ({min(listed, len(above))} of {len(above)}):\n\n"
        text += table(["method", "case", "setting", "/ envelope"], [[m, name(c), f"{c.policy}, {c.links}", f"{r:.4f}"] for r, m, c in above[:listed]], 3)
    return text


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            return next((line.split(":", 1)[1].strip() for line in stream if line.startswith("model name")), "")
    except OSError:
        return ""


def made_on(arguments):
    """Commit, machine and compiler, as far as they are given or can be seen from here."""
    root = pathlib.Path(__file__).resolve().parent.parent
    commit = arguments.commit or first_line("git", "-C", str(root), "rev-parse", "--short", "HEAD")
    machine = arguments.machine or f"{processor() or 'a processor without name'}, {os.cpu_count()} cores"
    compiler = arguments.compiler or first_line(os.environ.get("CXX", "c++"), "--version")
    return f"commit {commit or 'not known'}; {machine}; {compiler or 'compiler not known'}"


def add_made_on(parser):
    parser.add_argument("--commit", help="that the runs were made on (default: HEAD)")
    parser.add_argument("--machine", help="that they were made on (default: this one)")
    parser.add_argument("--compiler", help="that built them (default: $CXX or c++)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--envelope")
    parser.add_argument("--list", type=int, default=20, metavar="N", help="of pardnn's rows above the envelope, the N worst")
    add_made_on(parser)
    arguments = parser.parse_args()
    runs = read_runs(arguments.csv)
    if not runs:
        raise SystemExit("no rows")
    print(f"# Quality\n\n{made_on(arguments)}. Made by `bench/quality` and `scripts/quality_table.py`.\n")
    print("Columns are geometric means of makespan / lower bound by graph family, then over all, then over the best proven bound. A run that does not fit,\n"
          f"where nothing proves that none does, counts as {UNSOLVED:g}. (n/N): the method has n of N cases. Best other: for pardnn's presets the best of all that are not; both fit.\n")
    for memory in sorted({case.memory for case in runs}, key=memory_order):
        for policy in POLICIES:
            for links in LINKS:
                sys.stdout.write(setting_section(runs, policy, links, memory))
    if arguments.envelope:
        sys.stdout.write(envelope_section(runs, read_envelope(arguments.envelope), arguments.list))


if __name__ == "__main__":
    main()
