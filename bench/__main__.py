"""`python -m bench [NAME…]`: run the benchmarks and print one table. Exit code 1 if a target is missed.

`growth` runs only when it is named: it fills each engine with millions of jobs (--rows), which takes minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial

from bench import conditions, enqueue, growth, latency, memory, servers, store, throughput
from bench.table import Result, print_table

Suite = Callable[[], list[Result]]
SUITES: dict[str, Suite] = {
    "throughput": throughput.measure,
    "enqueue": enqueue.measure,
    "store": store.measure,
    "latency": latency.measure,
    "memory": memory.measure,
    "servers": servers.measure,
    "conditions": conditions.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUITES)} or growth")
    parser.add_argument("--rows", type=int, default=growth.ROWS, help="jobs in growth's large table")
    given = parser.parse_args()
    suites: dict[str, Suite] = {**SUITES, "growth": partial(growth.measure, rows=given.rows)}
    unknown = [name for name in given.names if name not in suites]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(suites)}")
    results = []
    for name in given.names or SUITES:
        print(f"measuring {name} …", file=sys.stderr)
        results += suites[name]()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}, Python {sys.version.split()[0]}\n")
    print_table(results)
    return 0 if all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
