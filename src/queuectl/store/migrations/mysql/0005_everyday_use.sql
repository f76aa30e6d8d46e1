-- Everyday use. What the columns mean is said in the SQLite schema.

ALTER TABLE jobs
    ADD COLUMN notify MEDIUMTEXT,
    ADD COLUMN input MEDIUMTEXT,
    ADD COLUMN about VARCHAR(128);

ALTER TABLE queues ADD COLUMN notify MEDIUMTEXT;
ALTER TABLE queues ADD COLUMN timeout_percent INT;

ALTER TABLE workers ADD COLUMN version VARCHAR(64);

CREATE TABLE runtimes (
    command VARCHAR(64) NOT NULL,
    class   INT NOT NULL,
    jobs    BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (command, class),
    KEY runtimes_seen (seen_at)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE compatibility (
    version BIGINT NOT NULL PRIMARY KEY,
    oldest  BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Again after a kill half-way: then it is there already.
REPLACE INTO compatibility (version, oldest) VALUES (5, 4);
