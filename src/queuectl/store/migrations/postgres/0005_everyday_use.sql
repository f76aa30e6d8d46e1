-- Everyday use. What the columns mean is said in the SQLite schema.

ALTER TABLE jobs
    ADD COLUMN notify text,
    ADD COLUMN input text,
    ADD COLUMN about text COLLATE "C";

ALTER TABLE queues ADD COLUMN notify text;
ALTER TABLE queues ADD COLUMN timeout_percent integer;

ALTER TABLE workers ADD COLUMN version text;

CREATE TABLE runtimes (
    command text COLLATE "C" NOT NULL,
    class   integer NOT NULL,
    jobs    bigint NOT NULL,
    seen_at bigint NOT NULL,
    PRIMARY KEY (command, class)
) WITH (fillfactor = 70);
CREATE INDEX runtimes_seen ON runtimes (seen_at);

CREATE TABLE compatibility (
    version bigint NOT NULL PRIMARY KEY,
    oldest  bigint NOT NULL
);
INSERT INTO compatibility (version, oldest) VALUES (5, 4);
