-- What happened in the past. What the columns mean is said in the SQLite schema.

CREATE TABLE history (
    span   INT NOT NULL,
    queue  VARCHAR(64) NOT NULL,
    start  BIGINT NOT NULL,
    kind   VARCHAR(16) NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (span, queue, start, kind)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

ALTER TABLE workers ADD COLUMN memory_kb BIGINT;
