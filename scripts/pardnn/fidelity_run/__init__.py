"""Emulated against measured runs: placements are drawn, run, and their times and memory laid side by side."""
