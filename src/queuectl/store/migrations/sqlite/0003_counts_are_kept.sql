-- How many jobs there are, kept with every change of a job: nobody has to count millions of rows.

CREATE TABLE tallies (
    minute INTEGER NOT NULL,                     -- 0: jobs that are there now; else those that ended in that
                                                 -- minute since 1970
    shard  INTEGER NOT NULL,                     -- 0 here: only writers of a server need more rows than one
    queue  TEXT    NOT NULL,
    state  TEXT    NOT NULL,
    jobs   INTEGER NOT NULL,                     -- only the sum over all shards means something
    PRIMARY KEY (minute, shard, queue, state)
) STRICT, WITHOUT ROWID;

INSERT INTO tallies (minute, shard, queue, state, jobs)
    SELECT 0, 0, queue, state, count(*) FROM jobs GROUP BY queue, state;

-- By queue as well: the jobs of a small queue are found among millions of others.
DROP INDEX jobs_finished;
CREATE INDEX jobs_finished ON jobs (state, queue, finished_at) WHERE finished_at IS NOT NULL;
