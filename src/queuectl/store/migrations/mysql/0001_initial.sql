-- Times are epoch milliseconds, durations milliseconds. Asked in plain SQL:
--   SELECT id, state, attempts, FROM_UNIXTIME(created_at / 1000) FROM jobs;
-- What the columns mean is said in the SQLite schema. Text compares by bytes, as it does there.
-- There are no partial indexes here: each begins with the state instead.

CREATE TABLE jobs (
    seq              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id               VARCHAR(128) NOT NULL,
    command          MEDIUMTEXT NOT NULL,
    argv             MEDIUMTEXT,
    queue            VARCHAR(64) NOT NULL,
    state            VARCHAR(16) NOT NULL,
    priority         INT NOT NULL,
    attempts         INT NOT NULL DEFAULT 0,
    max_retries      INT NOT NULL,
    lost             INT NOT NULL DEFAULT 0,
    runs             INT NOT NULL DEFAULT 0,
    backoff_strategy VARCHAR(16),
    backoff_base     DOUBLE,
    backoff_max      BIGINT,
    retry_delay      BIGINT,
    timeout          BIGINT,
    run_at           BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    cwd              TEXT,
    env              MEDIUMTEXT,
    tags             TEXT,
    exit_code        INT,
    `signal`         INT,
    last_error       MEDIUMTEXT,
    worker_id        VARCHAR(191),
    claim            VARCHAR(64),
    cancel_requested INT NOT NULL DEFAULT 0,
    urgency          INT AS (-priority) VIRTUAL,
    UNIQUE KEY jobs_id (id),
    KEY jobs_claim (state, queue, urgency, run_at, seq),
    KEY jobs_due (state, run_at),
    KEY jobs_running (worker_id, state),
    KEY jobs_finished (state, finished_at)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE attempts (
    job_seq        BIGINT NOT NULL,
    run            INT NOT NULL,
    attempt        INT NOT NULL,
    claim          VARCHAR(64) NOT NULL,
    worker_id      VARCHAR(191),
    host           VARCHAR(255),
    started_at     BIGINT,
    finished_at    BIGINT NOT NULL,
    outcome        VARCHAR(32) NOT NULL,
    exit_code      INT,
    `signal`       INT,
    error          MEDIUMTEXT,
    cpu_ms         BIGINT,
    max_rss_kb     BIGINT,
    output         LONGBLOB,
    output_bytes   BIGINT NOT NULL,
    output_dropped BIGINT NOT NULL,
    log            TEXT,
    PRIMARY KEY (job_seq, run)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE workers (
    id          VARCHAR(191) NOT NULL PRIMARY KEY,
    host        VARCHAR(255) NOT NULL,
    pid         INT NOT NULL,
    identity    VARCHAR(255) NOT NULL,
    session     INT NOT NULL,
    state       VARCHAR(16) NOT NULL,
    lease_until BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    seen_at     BIGINT NOT NULL,
    concurrency INT NOT NULL,
    running     INT NOT NULL,
    queues      TEXT,
    supervisor  INT,
    control     VARCHAR(64)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE config (
    `key`      VARCHAR(128) NOT NULL PRIMARY KEY,
    value      MEDIUMTEXT NOT NULL,
    updated_at BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
