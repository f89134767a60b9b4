"""Benchmarks: what things cost, as ratios within one run. `python -m benchmarks` tells which there are."""
