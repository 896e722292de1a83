"""What a run says of itself: before its first step, and after its last."""

from __future__ import annotations

from typing import Any

from .plan import DevicePlan, StepPlan


def description(name: str, step: StepPlan, own: DevicePlan, replicas: int, bucket: int) -> list[str]:
    """What is run and what goes between the ranks; ``own``: the plan of device 0."""
    placement = step.placement
    tokens = sum(t.token for t in step.transfers)
    found = [f"graph       {name}: {len(placement.device):,} nodes on {placement.devices} devices" + (f" x {replicas} replicas" if replicas > 1 else ""),
             f"order       {'of an emulated run, computed here' if placement.computed else 'of the placement file'}; "
             f"a step takes {placement.schedule.makespan / 1e6:.3f} ms there",
             f"transfers   {len(step.transfers) - tokens:,} values of {step.bytes_sent:,} B per step, {tokens:,} tokens, "
             f"{step.dropped_tokens:,} control edges implied by them"]
    if own.buckets:
        found.append(f"averages    {len(own.buckets.buckets)} buckets of {bucket:,} B on device 0, at most {own.buckets.peak:,} B under way; "
                     "batch statistics are those of each replica")
    return found


def summary(rows: list[dict[str, Any]], devices: int, steady: int, warm_up: int) -> list[str]:
    """A line for each rank: ``nodes``, ``peak``, ``emulated``, ``bucket`` and ``waiting`` (bytes), ``ms`` (mean of ``steady`` steps)."""
    found = ["  rank  device  replica    nodes      live peak B       emulated B  of it buckets     + waiting B  ratio   ms/step"]
    for rank, row in enumerate(rows):
        replica, device = divmod(rank, devices)
        ratio = f"{row['peak'] / row['emulated']:5.3f}" if row["emulated"] else "    -"
        memory = f"{row['peak']:15,}  {row['emulated']:15,}  {row['bucket']:13,}  {row['waiting']:14,}"
        found.append(f"  {rank:4}  {device:6}  {replica:7}  {row['nodes']:7,}  {memory}  {ratio}  {row['ms']:8.1f}")
    if steady:
        found.append(f"step time   {max(r['ms'] for r in rows):.1f} ms, mean of {steady} steps after {warm_up} to warm up")
    return found
