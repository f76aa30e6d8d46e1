"""Writes the figures of docs/scaling.md again, from the costs and real runs of the last full measurement."""

from __future__ import annotations

from bench.simulation import study

if __name__ == "__main__":
    study.write()
