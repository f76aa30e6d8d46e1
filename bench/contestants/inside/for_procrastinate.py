"""Run with a command and a count: enqueues so many jobs. Imported by procrastinate's worker: runs them."""

from __future__ import annotations

import json
import os
import sys

from command import run  # type: ignore[import-not-found]  # beside this file

# Not in our own environment: bench.contestants.procrastinate makes one for it.
from procrastinate import App, PsycopgConnector, SyncPsycopgConnector  # type: ignore[import-not-found]

_store = json.loads(os.environ["BENCH_STORE"])
_settings = {"conninfo": _store["url"], "kwargs": {"options": f"-c search_path={_store['schema']}"}}
app = App(connector=PsycopgConnector(**_settings))
job = app.task(name="run")(run)

if __name__ == "__main__":
    with app.replace_connector(SyncPsycopgConnector(**_settings)) as here, here.open():
        here.schema_manager.apply_schema()
        jobs = [{"command": sys.argv[1]}] * int(sys.argv[2])
        here.tasks["run"].batch_defer(*jobs)
