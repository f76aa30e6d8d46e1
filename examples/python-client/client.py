"""Count the words of some texts by commands in the background, then add up what they found."""

from pathlib import Path

from queuectl import Queue

TEXTS = ["to be or not to be", "the quick brown fox", "hello"]

with Queue.open() as queue:
    ids = queue.enqueue_many(
        {
            "id": f"count-{number}",
            # The text is an argument, never part of the line: no text can become a command.
            "argv": ["sh", "-c", 'echo "$1" | wc -w > "$QUEUECTL_JOB_ID"', "sh", text],
            "tags": ["count"],
            "max_retries": 2,
        }
        for number, text in enumerate(TEXTS)
    )
    report = queue.enqueue("cat count-* > report", id="report", after=ids, timeout="1m")
    if not queue.wait([report.id], timeout=60):
        raise SystemExit("no worker?")
    for id in [*ids, report.id]:
        job = queue.get(id)
        last = queue.attempts(job)[-1]
        print(id, job.state, last.exit_code)

words = sum(int(line) for line in Path("report").read_text().split())
print(f"{len(ids)} jobs, {words} words")
