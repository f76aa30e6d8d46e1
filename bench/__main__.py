"""`python -m bench [NAME…]`: run the benchmarks and print one table. Exit code 1 if a target is missed."""

from __future__ import annotations

import os
import sys

from bench import enqueue, latency, memory, store, throughput
from bench.table import print_table

SUITES = {
    "throughput": throughput.measure,
    "enqueue": enqueue.measure,
    "store": store.measure,
    "latency": latency.measure,
    "memory": memory.measure,
}


def main() -> int:
    names = sys.argv[1:] or list(SUITES)
    results = []
    for name in names:
        print(f"measuring {name} …", file=sys.stderr)
        results += SUITES[name]()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}, Python {sys.version.split()[0]}\n")
    print_table(results)
    return 0 if all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
