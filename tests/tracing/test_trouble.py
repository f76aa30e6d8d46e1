"""Not configured, not installed, nobody there: jobs are stored and run as if nobody traced."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from queuectl import arriving
from queuectl.tracing import provider
from tests.support.home import Home
from tests.tracing.collector import Collector

OFF = {
    "nothing": {},
    "none": {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    "disabled": {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    "empty": {"OTEL_TRACES_EXPORTER": "", "OTEL_EXPORTER_OTLP_ENDPOINT": ""},
}
ON = {
    "endpoint": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    "of traces": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9"},
    "exporter": {"OTEL_TRACES_EXPORTER": "console"},
    "not disabled": {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "false"},
}


@pytest.mark.parametrize("variables", OFF.values(), ids=OFF)
def test_off(variables: dict[str, str]) -> None:
    assert not provider.is_configured(variables)


@pytest.mark.parametrize("variables", ON.values(), ids=ON)
def test_on(variables: dict[str, str]) -> None:
    assert provider.is_configured(variables)


def test_enqueue_looks_for_the_same_variables() -> None:
    assert set(arriving._TRACED_BY) == {*provider.ENDPOINTS, provider.EXPORTER}


# --- without configuration ------------------------------------------------------------------------------


@pytest.mark.parametrize("variables", [OFF["nothing"], OFF["none"]], ids=["nothing", "none"])
def test_neither_enqueue_nor_worker_loads_what_they_do_not_use(
    home: Home, tmp_path: Path, variables: dict[str, str]
) -> None:
    """Whoever imports it dies here."""
    shut = _shadow(tmp_path, "import os; os._exit(99)")
    env = {**variables, "PYTHONPATH": shut, "TRACEPARENT": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
    home.ok("enqueue", "--id", "job1", "true", env=env)
    worker = home.foreground(env=env)
    home.wait_for("job1", "completed")
    worker.terminate()
    worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert home.q("-V", env={"PYTHONPATH": shut}).returncode == 0
    probe = home.q("enqueue", "true", env={**env, **ON["endpoint"], "OTEL_TRACES_EXPORTER": "otlp"})
    assert probe.returncode == 99  # so it would be noticed


# --- without the package --------------------------------------------------------------------------------


def test_a_worker_says_once_that_the_package_is_missing(home: Home, tmp_path: Path) -> None:
    absent = _shadow(tmp_path, "raise ModuleNotFoundError('gone', name='opentelemetry')")
    env = {"PYTHONPATH": absent, **ON["endpoint"]}
    caller = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    done = home.q("enqueue", "--id", "job1", "echo $TRACEPARENT", env={**env, "TRACEPARENT": caller})
    assert (done.returncode, "opentelemetry" in done.stderr) == (0, False)
    worker = home.foreground(env=env)
    home.wait_for("job1", "completed")
    worker.terminate()
    _, said = worker.communicate(timeout=60)

    assert worker.returncode == 0
    lines = [line for line in said.decode().splitlines() if "tracing" in line]
    assert len(lines) == 1
    assert "opentelemetry is missing; pip install 'queuectl[otel]'" in lines[0]
    assert home.ok("logs", "job1").strip() == caller


def test_an_exporter_that_nobody_has_is_told_of_too(home: Home) -> None:
    home.ok("enqueue", "--id", "job1", "true", env={"OTEL_TRACES_EXPORTER": "carrier-pigeon"})
    worker = home.foreground(env={"OTEL_TRACES_EXPORTER": "carrier-pigeon"})
    home.wait_for("job1", "completed")
    worker.terminate()
    _, said = worker.communicate(timeout=60)
    assert b"no package for the exporter 'carrier-pigeon'" in said


def _shadow(directory: Path, code: str) -> str:
    """A directory in which `opentelemetry` is something else."""
    (directory / "shadow" / "opentelemetry").mkdir(parents=True)
    (directory / "shadow" / "opentelemetry" / "__init__.py").write_text(code + "\n")
    return os.pathsep.join([str(directory / "shadow"), *filter(None, [os.environ.get("PYTHONPATH")])])


# --- without a collector --------------------------------------------------------------------------------


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections, and says nothing."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(8)
        yield int(one.getsockname()[1])


def test_a_closed_port_disturbs_nobody(home: Home, closed_port: int) -> None:
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{closed_port}/?key=geheim",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    done = home.q("enqueue", "--id", "job1", "true", env=env)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert str(closed_port) not in done.stderr
    worker = home.foreground(env=env)
    home.wait_for("job1", "completed")
    for number in range(5):
        with home.queue() as queue:
            queue.enqueue("true", id=f"more{number}")
        home.wait_for(f"more{number}", "completed")
    worker.terminate()
    _, said = worker.communicate(timeout=60)

    assert worker.returncode == 0
    lines = [line for line in said.decode().splitlines() if "traces cannot be exported" in line]
    assert len(lines) == 1, said
    assert b"Traceback" not in said
    assert b"geheim" not in said


def silence(port: int) -> dict[str, str]:
    """The exporter itself would wait for ten minutes: far longer than any test waits for a command."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "600",
        "OTEL_BSP_EXPORT_TIMEOUT": "600000",
    }


@pytest.mark.parametrize("words", [("enqueue", "true"), ("run", "--", "true")], ids=["enqueue", "run"])
def test_nobody_waits_for_a_collector_that_never_answers(
    home: Home, silent_port: int, words: tuple[str, ...]
) -> None:
    home.ok(*words, env=silence(silent_port))


def test_a_stop_does_not_wait_for_a_silent_collector(home: Home, silent_port: int) -> None:
    with home.queue() as queue:
        queue.enqueue("true", id="job1")
    worker = home.foreground(env=silence(silent_port))
    home.wait_for("job1", "completed")
    worker.terminate()
    worker.communicate(timeout=60)
    assert worker.returncode == 0


def test_the_console_exporter_leaves_stdout_to_ids(home: Home) -> None:
    done = home.q("enqueue", "--quiet", "--id", "job1", "true", env={"OTEL_TRACES_EXPORTER": "console"})
    assert done.stdout == "job1\n"
    assert '"name": "enqueue default"' in done.stderr


def test_a_program_that_traces_by_itself_is_joined(home: Home, tmp_path: Path) -> None:
    """Its provider, its current span."""
    script = tmp_path / "program.py"
    script.write_text(
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.resources import Resource\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter\n"
        "provider = TracerProvider(resource=Resource({'service.name': 'shop'}))\n"
        "provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))\n"
        "trace.set_tracer_provider(provider)\n"
        "from queuectl import Queue\n"
        "with trace.get_tracer('shop').start_as_current_span('order'), Queue.open() as queue:\n"
        "    queue.enqueue('true', id='job1')\n"
    )
    with closing(Collector()) as collector:
        env = {**home.env, **collector.environment}
        subprocess.run([sys.executable, str(script)], env=env, cwd=home.work, check=True, timeout=60)
        order, enqueued = collector.spans(2)
    assert (enqueued.name, order.name, enqueued.parent) == ("enqueue default", "order", order.id)
    assert enqueued.service == "shop"
    with home.queue() as queue:
        assert enqueued.is_named_by(queue.get("job1").environment()["TRACEPARENT"])
