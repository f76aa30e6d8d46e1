-- When and how jobs run. What the columns mean is said in the SQLite schema.

ALTER TABLE jobs
    ADD COLUMN rules text,
    ADD COLUMN needs text COLLATE "C",
    ADD COLUMN unique_key text COLLATE "C",
    ADD COLUMN job_group text COLLATE "C",
    ADD COLUMN held integer,
    ADD COLUMN waits integer,
    ADD COLUMN unmet integer,
    ADD COLUMN schedule text COLLATE "C",
    ADD COLUMN progress integer,
    ADD COLUMN progress_text text;

DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (needs, queue, priority DESC, run_at, seq) WHERE state = 'pending';
CREATE UNIQUE INDEX jobs_unique ON jobs (unique_key) WHERE unique_key IS NOT NULL AND finished_at IS NULL;
CREATE INDEX jobs_group ON jobs (job_group, state, priority DESC, run_at, seq) WHERE job_group IS NOT NULL;
CREATE INDEX jobs_schedule ON jobs (schedule) WHERE schedule IS NOT NULL AND finished_at IS NULL;

CREATE TABLE dependencies (
    parent_seq bigint NOT NULL,
    child_seq  bigint NOT NULL,
    kind       text NOT NULL,
    settled    integer,
    PRIMARY KEY (parent_seq, child_seq)
);
CREATE INDEX dependencies_child ON dependencies (child_seq);

CREATE TABLE unsettled (
    seq bigint PRIMARY KEY
);

CREATE TABLE queues (
    name             text COLLATE "C" PRIMARY KEY,
    concurrency      integer,
    rate             text,
    burst            integer,
    rate_spent       bigint,
    timeout          bigint,
    max_retries      integer,
    backoff_strategy text,
    backoff_base     double precision,
    backoff_max      bigint,
    retry_delay      bigint,
    paused_at        bigint,
    paused_until     bigint,
    pause_reason     text,
    draining         integer,
    updated_at       bigint NOT NULL
);

CREATE TABLE job_groups (
    name        text COLLATE "C" PRIMARY KEY,
    concurrency integer NOT NULL,
    updated_at  bigint NOT NULL
);

CREATE TABLE schedules (
    name       text COLLATE "C" PRIMARY KEY,
    recurrence text NOT NULL,
    zone       text NOT NULL,
    catch_up   text NOT NULL,
    overlap    text NOT NULL,
    job        text NOT NULL,
    next_at    bigint,
    paused_at  bigint,
    last_at    bigint,
    last_job   text COLLATE "C",
    fired      bigint NOT NULL,
    skipped    bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

ALTER TABLE workers ADD COLUMN provides text;
