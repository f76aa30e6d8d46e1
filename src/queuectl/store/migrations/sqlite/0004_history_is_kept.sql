-- What happened in the past, for graphs and counters: few rows, however many jobs there were.

CREATE TABLE history (
    span   INTEGER NOT NULL,                     -- minutes that a row stands for: 1, 10, 60, 240, 1440; 0: ever
    queue  TEXT    NOT NULL,                     -- empty: all of them
    start  INTEGER NOT NULL,                     -- the first of these minutes since 1970
    kind   TEXT    NOT NULL,                     -- what was counted, see store/history.py
    amount INTEGER NOT NULL,
    PRIMARY KEY (span, queue, start, kind)
) STRICT, WITHOUT ROWID;

-- What a worker's process holds of the memory, as it said with its last sign of life.
ALTER TABLE workers ADD COLUMN memory_kb INTEGER;
