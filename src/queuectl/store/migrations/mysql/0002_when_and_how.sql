-- When and how jobs run. What the columns mean is said in the SQLite schema. Generated columns stand for the
-- conditions of its partial indexes: they are NULL for every job that an index is not for.

ALTER TABLE jobs
    ADD COLUMN rules MEDIUMTEXT,
    ADD COLUMN needs VARCHAR(255),
    ADD COLUMN unique_key VARCHAR(191),
    ADD COLUMN job_group VARCHAR(64),
    ADD COLUMN held INT,
    ADD COLUMN waits INT,
    ADD COLUMN unmet INT,
    ADD COLUMN schedule VARCHAR(128),
    ADD COLUMN progress INT,
    ADD COLUMN progress_text TEXT;

ALTER TABLE jobs
    ADD COLUMN live_key VARCHAR(191) AS (IF(finished_at IS NULL, unique_key, NULL)) VIRTUAL,
    ADD COLUMN live_schedule VARCHAR(128) AS (IF(finished_at IS NULL, schedule, NULL)) VIRTUAL,
    ADD COLUMN group_state VARCHAR(16) AS (IF(job_group IS NULL, NULL, state)) VIRTUAL;

ALTER TABLE jobs DROP KEY jobs_claim, ADD KEY jobs_claim (state, needs, queue, urgency, run_at, seq);

ALTER TABLE jobs ADD UNIQUE KEY jobs_unique (live_key);

ALTER TABLE jobs ADD KEY jobs_group (job_group, group_state, urgency, run_at, seq);

ALTER TABLE jobs ADD KEY jobs_schedule (live_schedule);

CREATE TABLE dependencies (
    parent_seq BIGINT NOT NULL,
    child_seq  BIGINT NOT NULL,
    kind       VARCHAR(16) NOT NULL,
    settled    INT,
    PRIMARY KEY (parent_seq, child_seq),
    KEY dependencies_child (child_seq)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE unsettled (
    seq BIGINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE queues (
    name             VARCHAR(64) NOT NULL PRIMARY KEY,
    concurrency      INT,
    rate             VARCHAR(64),
    burst            INT,
    rate_spent       BIGINT,
    timeout          BIGINT,
    max_retries      INT,
    backoff_strategy VARCHAR(16),
    backoff_base     DOUBLE,
    backoff_max      BIGINT,
    retry_delay      BIGINT,
    paused_at        BIGINT,
    paused_until     BIGINT,
    pause_reason     TEXT,
    draining         INT,
    updated_at       BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE job_groups (
    name        VARCHAR(64) NOT NULL PRIMARY KEY,
    concurrency INT NOT NULL,
    updated_at  BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE schedules (
    name       VARCHAR(128) NOT NULL PRIMARY KEY,
    recurrence TEXT NOT NULL,
    zone       VARCHAR(64) NOT NULL,
    catch_up   VARCHAR(16) NOT NULL,
    overlap    VARCHAR(16) NOT NULL,
    job        MEDIUMTEXT NOT NULL,
    next_at    BIGINT,
    paused_at  BIGINT,
    last_at    BIGINT,
    last_job   VARCHAR(128),
    fired      BIGINT NOT NULL,
    skipped    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

ALTER TABLE workers ADD COLUMN provides TEXT;
