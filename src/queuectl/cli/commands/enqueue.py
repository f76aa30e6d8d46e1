"""queuectl enqueue: one job, or many from a file."""

from __future__ import annotations

import sys

from queuectl.cli.jobspec import add_job_options, given_fields, job_from_options, parse_words
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import is_terminal, plural, print_json, say
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser
    from queuectl.core.job import NewJob
    from queuectl.queue import Queue

_ABOUT = """Store a job; a worker runs it. One word is a shell line (or JSON if it starts with {), several
words are an argument list that is run without a shell. The job is durable when this returns."""

_EXAMPLES = """
  queuectl enqueue "sleep 2 && echo done"
  queuectl enqueue '{"id":"job1","command":"sleep 2","max_retries":3}'
  queuectl enqueue --id job1 --command "echo hi" --priority 5 --timeout 10m
  queuectl enqueue -- convert "my photo.png" out.jpg
  queuectl enqueue --file jobs.jsonl
  ls *.wav | sed 's/.*/flac "&"/' | queuectl enqueue --lines -f -
"""


def build_parser() -> Parser:
    result = parser("enqueue", _ABOUT, _EXAMPLES)
    result.add_argument("--file", "-f", metavar="F", help="many jobs: JSON lines or an array; - is stdin")
    result.add_argument("--lines", action="store_true", help="the file has a shell command per line")
    result.add_argument(
        "--if-exists",
        choices=("fail", "skip"),
        default="fail",
        help="when the id exists already (default: fail)",
    )
    result.add_argument("--quiet", action="store_true", help="print only the id or ids")
    add_job_options(result)
    return result


def main(words: list[str]) -> int:
    options = parse_words(build_parser(), words)
    if len(options.words) == 1 and options.words[0].startswith("@") and not options.file:
        options.file, options.words = options.words[0][1:], []
    with open_queue(options) as queue:
        if options.file is not None:
            _enqueue_file(queue, options)
        else:
            _enqueue_one(queue, options)
        _warn_without_workers(queue)
    return 0


def _enqueue_one(queue: Queue, options: argparse.Namespace) -> None:
    if options.lines:
        raise InvalidInput("--lines needs --file", "like: queuectl enqueue --lines --file cmds.txt")
    job = job_from_options(options, queue.defaults())
    new = queue.enqueue_jobs([job], if_exists=options.if_exists)
    assert job.id is not None
    if not new:
        _say_skipped(queue, job)
    elif job.run_at is not None and not options.quiet:
        from queuectl.core.times import describe_when

        say(f"runs {describe_when(job.run_at, now_ms=queue.clock.now())}")
    if options.json:
        print_json(queue.get(job.id).to_dict())
    elif options.quiet:
        print(job.id)
    elif new:
        print(f"✓ Job {job.id} enqueued successfully")


def _say_skipped(queue: Queue, job: NewJob) -> None:
    stored = queue.get(str(job.id))
    same = (stored.command, stored.argv, stored.queue) == (job.command, job.argv, job.queue)
    other = "" if same else "; it has another command, which was left as it is"
    say(f"job {job.id} exists already ({stored.state}), skipped{other}")


def _enqueue_file(queue: Queue, options: argparse.Namespace) -> None:
    from queuectl.cli.jobfile import open_jobs, read_jobs, read_lines

    if options.words or options.command:
        raise InvalidInput("both a file and a command are given", "give one of the two")
    if options.id:
        raise InvalidInput("--id is for one job", 'give ids in the file: {"id": …, "command": …}')
    over = given_fields(options)
    with open_jobs(options.file) as file:
        source = (
            read_lines(file, queue.defaults(), over)
            if options.lines
            else read_jobs(file, queue.defaults(), over, _once())
        )
        ids: list[str] = []
        listed = options.quiet or options.json
        jobs = _collecting(source, ids) if listed else source
        new = _store(queue, jobs, options)
    if options.json:
        from queuectl.cli.output import print_json_array

        print_json_array(queue.get(id).to_dict() for id in ids)
    elif options.quiet:
        sys.stdout.writelines(f"{id}\n" for id in ids)
    else:
        print(f"✓ {plural(new, 'job')} enqueued")


def _store(queue: Queue, jobs: object, options: argparse.Namespace) -> int:
    from queuectl.cli.progress import counter

    with counter("enqueued", show=is_terminal(sys.stderr) and not options.quiet) as progress:
        return queue.enqueue_jobs(jobs, if_exists=options.if_exists, progress=progress)  # type: ignore[arg-type]


def _collecting(source: object, ids: list[str]) -> object:
    kept: list[NewJob] = []
    for job in source:  # type: ignore[attr-defined]
        kept.append(job)
        yield job
    ids.extend(str(job.id) for job in kept)


def _once() -> object:
    seen: set[str] = set()

    def note(text: str) -> None:
        if text not in seen:
            seen.add(text)
            say(f"note: {text}")

    return note


def _warn_without_workers(queue: Queue) -> None:
    from queuectl.fleet import living_workers

    if not living_workers(queue.store):
        say("note: no worker is running, so jobs will wait. Start one: queuectl worker start")
