-- Who is told when a job has ended, what a command reads, how long commands take, which program a worker is.
-- All of it is new columns and tables: a program that knows none of them can go on with this store.

ALTER TABLE jobs ADD COLUMN notify TEXT;         -- JSON object: the command that is told of its end, and when
ALTER TABLE jobs ADD COLUMN input TEXT;          -- what its command reads; NULL: nothing
ALTER TABLE jobs ADD COLUMN about TEXT;          -- a notification: the id of the job that it tells of

ALTER TABLE queues ADD COLUMN notify TEXT;       -- for its jobs, unless they have one of their own
ALTER TABLE queues ADD COLUMN timeout_percent INTEGER;  -- of a command's usual run time, instead of a timeout

ALTER TABLE workers ADD COLUMN version TEXT;     -- of its program

-- How long commands took that succeeded, in classes of durations (core.measures).
CREATE TABLE runtimes (
    command  TEXT    NOT NULL,                   -- a digest of what is run, and where
    class    INTEGER NOT NULL,
    jobs     INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL,                   -- when the last of them ended
    PRIMARY KEY (command, class)
) STRICT, WITHOUT ROWID;
CREATE INDEX runtimes_seen ON runtimes (seen_at);

-- Which programs may use these tables: those that know at least the schema `oldest`. Each migration adds its row;
-- without one it is for newer programs only.
CREATE TABLE compatibility (
    version  INTEGER NOT NULL PRIMARY KEY,       -- of the schema
    oldest   INTEGER NOT NULL
) STRICT;
INSERT INTO compatibility (version, oldest) VALUES (5, 4);
