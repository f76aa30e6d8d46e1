-- How many jobs there are. What the columns mean is said in the SQLite schema. Few rows that change at every
-- commit: there is room in each page for their next versions.

CREATE TABLE tallies (
    minute bigint NOT NULL,
    shard  integer NOT NULL,
    queue  text COLLATE "C" NOT NULL,
    state  text COLLATE "C" NOT NULL,
    jobs   bigint NOT NULL,
    PRIMARY KEY (minute, shard, queue, state)
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

LOCK TABLE jobs IN EXCLUSIVE MODE;
INSERT INTO tallies (minute, shard, queue, state, jobs)
    SELECT 0, 0, queue, state, count(*) FROM jobs GROUP BY queue, state;

-- By queue as well: the jobs of a small queue are found among millions of others.
DROP INDEX jobs_finished;
CREATE INDEX jobs_finished ON jobs (state, queue, finished_at) WHERE finished_at IS NOT NULL;
