-- What happened in the past. What the columns mean is said in the SQLite schema.

CREATE TABLE history (
    span   integer NOT NULL,
    queue  text COLLATE "C" NOT NULL,
    start  bigint NOT NULL,
    kind   text COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (span, queue, start, kind)
) WITH (fillfactor = 70);

ALTER TABLE workers ADD COLUMN memory_kb bigint;
