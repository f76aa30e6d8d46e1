"""queuectl map: one durable job for each input, like GNU parallel."""

from __future__ import annotations

import os
import sys

from queuectl.cli.jobspec import (
    NamingOptions,
    add_job_options,
    current_directory,
    given_fields,
    note_missing_directory,
    parse_words,
)
from queuectl.cli.mapping import Inputs, MapJobs, check_name, tag_of
from queuectl.cli.mapresult import Stored, finish
from queuectl.cli.options import hidden, open_queue, parser
from queuectl.cli.output import can_redraw, clean, is_terminal, print_json_array, say
from queuectl.cli.progress import Counter
from queuectl.cli.selection import number
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core import states
from queuectl.core.halting import NEVER, parse_halt
from queuectl.core.ids import new_ids
from queuectl.core.inputs import FILE, VALUES, Source, split_sources
from queuectl.core.spec import Defaults
from queuectl.core.templates import DEFAULT_REPLACEMENT
from queuectl.errors import InvalidInput, Refused
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_ABOUT = """Store one job for each input: values after :::, lines of files after ::::, or lines on stdin.
{} in the command is the input; {.} is without its extension, {/} its base name, {//} its directory,
{/.} both, {#} its number, {1} {2} columns or sources; without any, the input is appended. One word is a
shell line, in which values are quoted; several words are an argument list that is run without a shell."""

_EXAMPLES = """
  queuectl map 'gzip -9 {}' ::: *.log
  queuectl map --wait -j 4 -- convert {} {.}.jpg ::: *.png
  find . -name '*.wav' -print0 | queuectl map -0 --timeout 10m 'flac {}'
  queuectl map --header --colsep , 'mail {address} < {letter}' :::: people.csv
  queuectl map --print 'echo {1}-{2}' ::: a b ::: 1 2
  queuectl map --resume nightly --wait --halt soon,fail=10% ./process ::: data/*
"""

_OFTEN_LATE = ("--dry-run", "--json", "--print", "--queue", "--tag", "--timeout", "--wait")


def build_parser() -> Parser:
    result = parser("map", _ABOUT, _EXAMPLES)
    add = result.add_argument_group("the inputs").add_argument
    add("--null", "-0", action="store_true", help="inputs end with NUL bytes, not with lines")
    add("--colsep", "-C", metavar="REGEX", help="split each input into the columns {1}, {2}, …")
    add("--header", action="store_true", help="the first line names the columns: {name}")
    add("--no-run-if-empty", action="store_true", help="leave out inputs that are blank")
    add("-I", dest="replacement", default=DEFAULT_REPLACEMENT, metavar="STR", help="write STR instead of {}")
    hidden(result, "--arg-file", "-a", dest="arg_files", action="append", default=[])
    add = result.add_argument_group("the map").add_argument
    add("--name", dest="map_name", metavar="NAME", help="its name; its jobs have the tag map:NAME")
    add("--resume", metavar="NAME", help="add what is new, retry what is dead or cancelled, leave the rest")
    add("--jobs", "-j", type=number(1, 1_000_000), metavar="N", help="at most N of them run at once")
    add("--dry-run", "--dryrun", action="store_true", help="only print the commands")
    add("--wait", "-w", action="store_true", help="until all have ended; exit code 1 unless all completed")
    add("--print", dest="printing", action="store_true", help="wait, and print their output in order")
    add(
        "--halt",
        default=NEVER,
        metavar="RULE",
        help="cancel the rest: soon,fail=1  now,fail=10%%  now,success=1",
    )
    add("--quiet", action="store_true", help="print only the ids")
    add_job_options(result, single=False)
    # With -0 among the options, argparse would take every negative number for one: --priority -5.
    result._has_negative_number_optionals.clear()
    return result


def main(words: list[str]) -> int:
    options, sources = _parse(words)
    named = options.resume or options.map_name
    name = check_name(named) if named else _new_name()
    with Inputs(
        sources,
        nul=options.null,
        separator=options.colsep,
        header=options.header,
        skip_blank=options.no_run_if_empty,
    ) as inputs:
        fields = _fields(options, name)
        key = name if named else None
        jobs = MapJobs(options.words, inputs, fields, replacement=options.replacement, key=key)
        defaults = Defaults(now=SYSTEM_CLOCK.now(), cwd=current_directory(options))
        with NamingOptions(options):
            jobs.check(defaults)
        if options.dry_run:
            return _dry_run(jobs, defaults, as_json=options.json)
        with open_queue(options) as queue:
            if options.cwd:
                note_missing_directory(os.path.join(current_directory(options), options.cwd))
            stored = _store(queue, name, jobs, inputs, options)
            return finish(queue, stored, options)


def _parse(words: list[str]) -> tuple[argparse.Namespace, list[Source]]:
    head, sources = split_sources(words)
    for place in range(len(head) - 1):
        if head[place : place + 2] == ["--header", ":"]:  # as parallel wants it
            del head[place + 1]
            break
    options = parse_words(build_parser(), head)
    _note_late_options(sources)
    options.halt = parse_halt(options.halt)
    options.wait = options.wait or options.printing
    if options.halt.when != NEVER and not options.wait:
        raise InvalidInput("--halt needs --wait, or nobody sees when to halt", "add --wait")
    if options.resume and options.map_name not in (None, options.resume):
        raise InvalidInput("--name and --resume name two maps", "give one of the two")
    if options.jobs and (options.group or options.group_limit):
        raise InvalidInput("--jobs is a group of its own", "give --group NAME --group-limit N instead")
    for other, given in (("--print", options.printing), ("--json", options.json)):
        if options.quiet and given:
            raise InvalidInput(
                f"--quiet and {other} do not go together",
                f"--quiet prints only the ids of the jobs; leave out --quiet or {other}",
            )
    files = [Source(FILE, [path]) for path in options.arg_files]
    return options, files + sources or [Source(FILE, ["-"])]


def _note_late_options(sources: list[Source]) -> None:
    """`map 'gzip {}' ::: *.log --wait` is not what it looks like, but an input may be called so."""
    values = {word for source in sources if source.kind == VALUES for word in source.words[-3:]}
    for word in sorted(values.intersection(_OFTEN_LATE)):
        say(f"note: {word} after ::: is an input; options go before the command")


def _new_name() -> str:
    return next(new_ids(SYSTEM_CLOCK.now(), int.from_bytes(os.urandom(4), "little")))


def _fields(options: argparse.Namespace, name: str) -> dict[str, object]:
    """What all jobs have in common."""
    fields = given_fields(options)
    fields["tags"] = [*(options.tags or ()), tag_of(name)]
    if options.jobs:
        fields.update(group=tag_of(name), group_limit=options.jobs)
    return fields


def _dry_run(jobs: MapJobs, defaults: Defaults, *, as_json: bool) -> int:
    if as_json:
        print_json_array({"id": job.id, "command": job.command} for job in jobs.make(defaults))
        return 0
    shown = clean if is_terminal() else str
    sys.stdout.writelines(f"{shown(job.command)}\n" for job in jobs.make(defaults))
    return 0


def _store(queue: Queue, name: str, jobs: MapJobs, inputs: Inputs, options: argparse.Namespace) -> Stored:
    wanted = JobFilter(tag=tag_of(name))
    known = bool(options.resume or options.map_name) and _is_known(queue, name, wanted, options)
    if_exists = "skip" if options.resume or options.map_name else "fail"
    made = jobs.make(queue.defaults(cwd=current_directory(options)))
    if can_redraw(sys.stderr) and not options.quiet:
        with Counter("enqueued", lambda done: inputs.share(done, jobs.read)) as progress:
            new = queue.enqueue_jobs(made, if_exists=if_exists, progress=progress)
    else:
        new = queue.enqueue_jobs(made, if_exists=if_exists)
    retried = queue.retry_matching(wanted, sources=(states.DEAD, states.CANCELLED)) if known else 0
    total = queue.store.count(wanted) if known else new
    return Stored(name, wanted, read=jobs.read, new=new, retried=retried, total=total)


def _is_known(queue: Queue, name: str, wanted: JobFilter, options: argparse.Namespace) -> bool:
    """Whether there are jobs of this map already, as there may be only to resume it."""
    first = queue.list(filter=wanted, limit=1)
    if first and not options.resume:
        raise Refused(
            f"there is a map {name} already", f"go on with it: --resume {name}; or choose another name"
        )
    if first and not first[0].id.startswith(f"{name}-"):
        raise Refused(
            f"map {name} was made without --name, so nobody knows which inputs it had",
            f"retry what failed: queuectl retry --tag {tag_of(name)}",
        )
    return bool(first)
