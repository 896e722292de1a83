"""Points of a batch curve as CSV, table and plot (after Fig. 4a of the ParDNN paper)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from .judge import Point

COLUMNS = ("devices", "batch", "samples_per_step", "preset", "fits", "cannot_fit", "makespan_ns", "samples_per_second", "greatest_peak_bytes",
           "least_usable_bytes", "capacity_needed_bytes", "largest")


def csv_text(points: Sequence[Point], largest: dict[int, int]) -> str:
    """A row for each point; ``largest`` is 1 at the largest batch that fits on so many devices."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for p in points:
        rows.writerow([p.devices, p.batch, p.samples, p.preset, int(p.fits), int(p.proven), p.makespan, f"{p.samples_per_second:.6g}", p.peak, p.usable,
                       p.needed, int(largest.get(p.devices) == p.batch)])
    return out.getvalue()


def table_lines(best: dict[int, Point | None]) -> Iterator[str]:
    """The largest batch of each number of devices, by what factor it exceeds ideal data parallelism, and its speed."""
    one = best.get(1)
    yield "  devices  largest batch  over ideal DP   samples/s  speedup     step ms    greatest peak B         usable B"
    for devices, point in sorted(best.items()):
        if point is None:
            yield f"  {devices:7}  {'none fits':>13}"
            continue
        over = f"{point.batch / (devices * one.batch):.2f} x" if one else "-"
        speedup = f"{point.samples_per_second / one.samples_per_second:.2f} x" if one else "-"
        yield (f"  {devices:7}  {point.batch:13,}  {over:>13}  {point.samples_per_second:10.2f}  {speedup:>7}  {point.makespan / 1e6:10.3f}  "
               f"{point.peak:17,}  {point.usable:15,}")


WIDTH, HEIGHT, MARGIN = 380, 300, 56
BLUE, GREY = "#1f77b4", "#999999"


def svg_text(best: dict[int, Point | None], title: str) -> str:
    """Two panels over the number of devices: the largest batch, with ideal data parallelism (from the fewest devices) dashed, and samples per second."""
    found = [(devices, point) for devices, point in sorted(best.items()) if point is not None]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{HEIGHT + 30}" font-family="sans-serif" font-size="11">',
             f'<rect width="{2 * WIDTH}" height="{HEIGHT + 30}" fill="white"/>',
             f'<text x="{WIDTH}" y="20" text-anchor="middle" font-size="13">{_escaped(title)}</text>']
    batches = [(devices, float(p.batch)) for devices, p in found]
    ideal = [(devices, batches[0][1] * devices / batches[0][0]) for devices, _ in batches]
    parts += _panel(0, "largest batch that fits (dashed: data parallelism)", batches, ideal)
    parts += _panel(WIDTH, "samples per second", [(devices, p.samples_per_second) for devices, p in found], [])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(left: int, label: str, values: list[tuple[int, float]], dashed: list[tuple[int, float]]) -> Iterator[str]:
    most = max((devices for devices, _ in values), default=1)
    top = max([v for _, v in (*values, *dashed)], default=1.0)
    x = lambda devices: left + MARGIN + (WIDTH - 2 * MARGIN) * devices / most
    y = lambda value: 30 + HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * value / top
    yield f'<text x="{left + WIDTH / 2:.0f}" y="48" text-anchor="middle">{label}</text>'
    yield (f'<path d="M{x(0):.1f} {y(top):.1f}V{y(0):.1f}H{x(most):.1f}" fill="none" stroke="black"/>'
           f'<text x="{left + WIDTH / 2:.0f}" y="{30 + HEIGHT - 14}" text-anchor="middle">devices</text>')
    for devices in sorted({devices for devices, _ in values}):
        yield f'<text x="{x(devices):.1f}" y="{y(0) + 16:.1f}" text-anchor="middle">{devices}</text>'
    for points, look in ((dashed, f'stroke="{GREY}" stroke-dasharray="4"'), (values, f'stroke="{BLUE}" stroke-width="2"')):
        if points:
            yield f'<polyline points="{" ".join(f"{x(d):.1f},{y(v):.1f}" for d, v in points)}" fill="none" {look}/>'
    for devices, value in values:
        yield (f'<circle cx="{x(devices):.1f}" cy="{y(value):.1f}" r="4" fill="{BLUE}"/>'
               f'<text x="{x(devices) - 7:.1f}" y="{y(value) - 7:.1f}" text-anchor="end">{value:{",.0f" if value >= 100 else ".3g"}}</text>')


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
