-- When and how jobs run: queues with rules, schedules, dependencies, unique keys, groups, resources. A job
-- that uses none of them has NULL in all of these columns and is in no other index than before.

ALTER TABLE jobs ADD COLUMN rules TEXT;          -- JSON object: exit codes, limits of the process
ALTER TABLE jobs ADD COLUMN needs TEXT;          -- "gpu=1,license=2": resources of a worker
ALTER TABLE jobs ADD COLUMN unique_key TEXT;     -- at most one job that has not ended has it
ALTER TABLE jobs ADD COLUMN job_group TEXT;      -- of which only so many run at once
ALTER TABLE jobs ADD COLUMN held INTEGER;        -- 1: blocked until somebody releases it
ALTER TABLE jobs ADD COLUMN waits INTEGER;       -- blocked: jobs before it that have not ended
ALTER TABLE jobs ADD COLUMN unmet INTEGER;       -- 1: cancelled because of a job before it
ALTER TABLE jobs ADD COLUMN schedule TEXT;       -- the schedule that made it
ALTER TABLE jobs ADD COLUMN progress INTEGER;    -- percent, as the command itself says
ALTER TABLE jobs ADD COLUMN progress_text TEXT;

-- What jobs need comes first, so that workers without resources never walk over those that need some.
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (needs, queue, priority DESC, run_at, seq) WHERE state = 'pending';
CREATE UNIQUE INDEX jobs_unique ON jobs (unique_key) WHERE unique_key IS NOT NULL AND finished_at IS NULL;
CREATE INDEX jobs_group ON jobs (job_group, state, priority DESC, run_at, seq) WHERE job_group IS NOT NULL;
CREATE INDEX jobs_schedule ON jobs (schedule) WHERE schedule IS NOT NULL AND finished_at IS NULL;

CREATE TABLE dependencies (
    parent_seq INTEGER NOT NULL,
    child_seq  INTEGER NOT NULL,
    kind       TEXT    NOT NULL,                 -- what the child waits for: success, any, failure
    settled    INTEGER,                          -- NULL: the parent has not ended; 1: met; 0: not met
    PRIMARY KEY (parent_seq, child_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_child ON dependencies (child_seq);

-- Jobs whose dependents have still to hear of their end, or of their new beginning.
CREATE TABLE unsettled (
    seq INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE queues (
    name             TEXT    PRIMARY KEY,
    concurrency      INTEGER,                    -- of its jobs at once, on all machines; NULL: any number
    rate             TEXT,                       -- "100/min"
    burst            INTEGER,
    rate_spent       INTEGER,                    -- nanoseconds: the token bucket, see core.rates
    timeout          INTEGER,                    -- defaults for its jobs
    max_retries      INTEGER,
    backoff_strategy TEXT,
    backoff_base     REAL,
    backoff_max      INTEGER,
    retry_delay      INTEGER,
    paused_at        INTEGER,
    paused_until     INTEGER,
    pause_reason     TEXT,
    draining         INTEGER,                    -- 1: takes no new jobs
    updated_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job_groups (
    name        TEXT    PRIMARY KEY,
    concurrency INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
    name       TEXT    PRIMARY KEY,
    recurrence TEXT    NOT NULL,                 -- "0 3 * * *"
    zone       TEXT    NOT NULL,
    catch_up   TEXT    NOT NULL,                 -- skip, one, all
    overlap    TEXT    NOT NULL,                 -- skip, queue, allow
    job        TEXT    NOT NULL,                 -- JSON: the fields of each job
    next_at    INTEGER,                          -- NULL: never again
    paused_at  INTEGER,
    last_at    INTEGER,                          -- the firing that was last handled
    last_job   TEXT,                             -- the id of the job that it made
    fired      INTEGER NOT NULL,
    skipped    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE workers ADD COLUMN provides TEXT;    -- "gpu=ids:0+1"
