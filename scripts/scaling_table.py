#!/usr/bin/env python3
"""Measured runs -> table and plot of strong scaling: scaling_table.py RUNS.csv NAME writes NAME.csv and NAME.svg.

RUNS.csv has no header; columns: kind (threads or ranks), ranks, threads, run, seeds, seconds, makespan_ns. Speedup is the
median seconds a seed of the smallest run of a kind over those of this one. Needs nothing but Python. bench/scaling.py uses it, too.
"""
import csv
import statistics
import sys


def table(rows):
    """One row for each kind and size: median seconds, spread, speedup, efficiency."""
    runs = {}
    for kind, ranks, threads, _, seeds, seconds, makespan in rows:
        key = (kind, int(ranks), int(threads), int(seeds))
        runs.setdefault(key, []).append((float(seconds), int(makespan)))
    base, out = {}, []
    for (kind, ranks, threads, seeds), measured in runs.items():
        seconds = [s for s, _ in measured]
        if len({m for _, m in measured}) != 1:
            raise SystemExit(f"{kind} {ranks} x {threads}: the makespan differs from run to run")
        median, size = statistics.median(seconds), ranks * threads
        first = base.setdefault(kind, median / seeds * size)
        out.append({"kind": kind, "ranks": ranks, "threads": threads, "seeds": seeds, "runs": len(seconds), "seconds": f"{median:.3f}",
                    "least": f"{min(seconds):.3f}", "greatest": f"{max(seconds):.3f}", "speedup": f"{first * seeds / median:.3f}",
                    "efficiency": f"{first * seeds / median / size:.3f}", "makespan_ns": measured[0][1]})
    return out


def plot(rows):
    """Speedup over size, one line for each kind, with the ideal beside it, as SVG."""
    width, height, margin = 520, 400, 60
    most = max(int(r["ranks"]) * int(r["threads"]) for r in rows)
    top = max([most] + [float(r["speedup"]) for r in rows])
    x = lambda size: margin + (width - 2 * margin) * (size - 1) / max(1, most - 1)
    y = lambda speedup: height - margin - (height - 2 * margin) * speedup / top
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<line x1="{x(1):.1f}" y1="{y(1):.1f}" x2="{x(most):.1f}" y2="{y(most):.1f}" stroke="#999" stroke-dasharray="4"/>']
    for size in sorted({int(r["ranks"]) * int(r["threads"]) for r in rows}):
        parts.append(f'<text x="{x(size):.1f}" y="{height - margin + 20}" text-anchor="middle">{size}</text>')
        parts.append(f'<text x="{margin - 10}" y="{y(size) + 4:.1f}" text-anchor="end">{size}</text>')
    for i, (kind, color) in enumerate((("threads", "#1f77b4"), ("ranks", "#d62728"))):
        points = [(x(int(r["ranks"]) * int(r["threads"])), y(float(r["speedup"]))) for r in rows if r["kind"] == kind]
        parts.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{color}"/>' for a, b in points]
        parts.append(f'<text x="{margin + 10}" y="{margin + 16 * i}" fill="{color}">{kind}</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 15}" text-anchor="middle">threads or ranks</text>')
    parts.append(f'<text x="15" y="{height / 2}" text-anchor="middle" transform="rotate(-90 15 {height / 2})">speedup (dashed: ideal)</text></svg>')
    return "\n".join(parts) + "\n"


def write_csv(file, rows):
    """`rows`: dictionaries with the same keys, at least one."""
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def report(rows, plot_file):
    """Plot to `plot_file`, one line a row to standard output."""
    with open(plot_file, "w", encoding="utf-8") as file:
        file.write(plot(rows))
    for row in rows:
        print(f'{row["kind"]:>8} {int(row["ranks"]) * int(row["threads"]):>4}  {row["seconds"]:>9} s  speedup {row["speedup"]}  efficiency {row["efficiency"]}')


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        rows = table(list(csv.reader(file)))
    write_csv(sys.argv[2] + ".csv", rows)
    report(rows, sys.argv[2] + ".svg")


if __name__ == "__main__":
    main()
