"""What a job printed can be read from every machine: all of it if short, else its end."""

from __future__ import annotations

import pytest
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(*SERVERS, long=["mysql"])
LINES = 5_000  # more than is kept in the store


@pytest.fixture
def elsewhere(home: Home, store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The same queue, seen from a machine that has none of the first one's files."""
    return Home(tmp_path_factory.mktemp("other") / "home", url=store_url)


def test_short_output_is_read_everywhere(home: Home, elsewhere: Home) -> None:
    home.ok("run", "--id", "a", "echo out; echo err >&2")
    result = elsewhere.q("logs", "a")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


def test_of_long_output_the_end_is_and_the_host_is_named(home: Home, elsewhere: Home) -> None:
    home.ok("run", "--id", "a", f"seq 1 {LINES}")
    whole = "".join(f"{number}\n" for number in range(1, LINES + 1))
    assert home.q("logs", "a").stdout == whole
    with home.queue() as queue:
        host = queue.attempts(queue.get("a"))[0].host
    result = elsewhere.q("logs", "a")
    assert whole.endswith(result.stdout)
    assert 10_000 < len(result.stdout) < 16_384
    assert "bytes left out" in result.stderr
    assert f"({len(whole):,} bytes) is on {host}" in result.stderr
    # Who follows gets the end too.
    assert elsewhere.q("logs", "-f", "a").stdout.endswith(f"{LINES - 1}\n{LINES}\n")
