-- Times are epoch milliseconds, durations milliseconds. Asked in plain SQL:
--   SELECT id, state, attempts, datetime(created_at / 1000, 'unixepoch') FROM jobs;

CREATE TABLE jobs (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,  -- first in, first out; never reused
    id               TEXT    NOT NULL UNIQUE,
    command          TEXT    NOT NULL,
    argv             TEXT,                               -- JSON list: run without a shell
    queue            TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    priority         INTEGER NOT NULL,
    attempts         INTEGER NOT NULL,                   -- starts since the last reset; counted at the claim
    max_retries      INTEGER NOT NULL,
    lost             INTEGER NOT NULL,                   -- how often its worker died under it
    runs             INTEGER NOT NULL,                   -- starts ever
    backoff_strategy TEXT,                               -- NULL: as configured
    backoff_base     REAL,
    backoff_max      INTEGER,
    retry_delay      INTEGER,
    timeout          INTEGER,
    run_at           INTEGER NOT NULL,                   -- due time of the next run
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,                            -- set in completed, dead, cancelled
    cwd              TEXT,
    env              TEXT,                               -- JSON object
    tags             TEXT,                               -- ",a,b,"
    exit_code        INTEGER,
    signal           INTEGER,
    last_error       TEXT,
    worker_id        TEXT,                               -- set in processing
    claim            TEXT,                               -- the fence: fresh for every claim
    cancel_requested INTEGER NOT NULL
) STRICT;

-- Every index is partial: a job is only in the one that its state needs.
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, run_at, seq) WHERE state = 'pending';
CREATE INDEX jobs_due ON jobs (state, run_at) WHERE state IN ('scheduled', 'failed');
CREATE INDEX jobs_blocked ON jobs (queue) WHERE state = 'blocked';
CREATE INDEX jobs_running ON jobs (worker_id) WHERE state = 'processing';
CREATE INDEX jobs_finished ON jobs (state, finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE attempts (
    job_seq        INTEGER NOT NULL,
    run            INTEGER NOT NULL,                     -- jobs.runs at that start
    attempt        INTEGER NOT NULL,                     -- jobs.attempts at that start
    claim          TEXT    NOT NULL,
    worker_id      TEXT,
    host           TEXT,
    started_at     INTEGER,
    finished_at    INTEGER NOT NULL,
    outcome        TEXT    NOT NULL,
    exit_code      INTEGER,
    signal         INTEGER,
    error          TEXT,
    cpu_ms         INTEGER,
    max_rss_kb     INTEGER,
    output         BLOB,                                 -- short output, packed
    output_bytes   INTEGER NOT NULL,
    output_dropped INTEGER NOT NULL,
    log            TEXT,                                 -- long output: file below logs/ on host
    PRIMARY KEY (job_seq, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
    id          TEXT    PRIMARY KEY,
    host        TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    identity    TEXT    NOT NULL,                        -- pid, start time, boot, pid namespace
    session     INTEGER NOT NULL,
    state       TEXT    NOT NULL,                        -- alive, or dead until its jobs are freed
    lease_until INTEGER NOT NULL,                        -- by the store's lease clock
    started_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    concurrency INTEGER NOT NULL,
    running     INTEGER NOT NULL,
    queues      TEXT,                                    -- NULL: all
    supervisor  INTEGER,                                 -- its pid
    control     TEXT                                     -- a stop request: drain [ms], or now
) STRICT, WITHOUT ROWID;

CREATE TABLE config (
    key        TEXT PRIMARY KEY,
    value      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
