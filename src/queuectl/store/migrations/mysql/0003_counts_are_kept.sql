-- How many jobs there are. What the columns mean is said in the SQLite schema.

CREATE TABLE tallies (
    minute BIGINT NOT NULL,
    shard  INT NOT NULL,
    queue  VARCHAR(64) NOT NULL,
    state  VARCHAR(16) NOT NULL,
    jobs   BIGINT NOT NULL,
    PRIMARY KEY (minute, shard, queue, state)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

ALTER TABLE jobs DROP KEY jobs_finished, ADD KEY jobs_finished (state, queue, finished_at);

DELETE FROM tallies;

INSERT INTO tallies (minute, shard, queue, state, jobs)
    SELECT 0, 0, queue, state, count(*) FROM jobs GROUP BY queue, state;
