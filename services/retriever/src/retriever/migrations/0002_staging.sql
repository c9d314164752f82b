-- What is on its way: refreshes, their manifests, and revisions that nobody sees yet.

CREATE TABLE refreshes (
    refresh_id    uuid PRIMARY KEY,
    status        text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'sealed', 'finished', 'failed')),
    scope         text NOT NULL DEFAULT 'paths' CHECK (scope IN ('tree', 'paths')),
    opened_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at    timestamptz,                              -- by the one who sealed it
    finished_at   timestamptz,
    unchanged     integer NOT NULL DEFAULT 0,
    added         integer NOT NULL DEFAULT 0,
    changed       integer NOT NULL DEFAULT 0,
    deleted       integer NOT NULL DEFAULT 0,
    embedded      integer NOT NULL DEFAULT 0,
    reason        text,
    rejected_path text,
    announced     boolean NOT NULL DEFAULT false            -- its end has been published
);
CREATE INDEX refreshes_finished ON refreshes (finished_at);

-- What a sealed refresh consists of, and how far each document of it has come.
CREATE TABLE manifest (
    refresh_id  uuid NOT NULL REFERENCES refreshes ON DELETE CASCADE,
    path        text COLLATE "C" NOT NULL,
    revision    bigint NOT NULL,
    state       text NOT NULL CHECK (state IN ('awaited', 'staged', 'visible')),
    PRIMARY KEY (refresh_id, path)
);
CREATE INDEX manifest_state ON manifest (refresh_id, state);

-- A revision, complete with every vector it needs, waiting to become visible.
CREATE TABLE revisions (
    path          text COLLATE "C" NOT NULL,
    revision      bigint NOT NULL,
    refresh_id    uuid NOT NULL REFERENCES refreshes ON DELETE CASCADE,
    sha256        text,                                     -- null: the document is to be deleted
    chunker       text,
    language      text,
    properties    jsonb,
    tags          text[] NOT NULL DEFAULT '{}',
    day           date,
    text          text,
    saved_at      timestamptz,
    trace         text,
    embedded      integer NOT NULL DEFAULT 0,
    embedding_ms  double precision NOT NULL DEFAULT 0,
    staged_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (path, revision)
);
CREATE INDEX revisions_refresh ON revisions (refresh_id);

CREATE TABLE staged_chunks (
    path        text COLLATE "C" NOT NULL,
    revision    bigint NOT NULL,
    ordinal     integer NOT NULL,
    id          text NOT NULL,
    first_byte  integer NOT NULL,
    end_byte    integer NOT NULL,
    first_line  integer NOT NULL,
    last_line   integer NOT NULL,
    heading     text[] NOT NULL,
    plain       text NOT NULL,
    runs        integer[] NOT NULL,
    context     text NOT NULL,
    text_hash   bytea NOT NULL,
    PRIMARY KEY (path, revision, ordinal),
    FOREIGN KEY (path, revision) REFERENCES revisions ON DELETE CASCADE
);
CREATE INDEX staged_chunks_hash ON staged_chunks (text_hash);

-- Every vector that was paid for and may be needed again: by the revision being staged, by the next refresh after a
-- failed one, by a text that comes back.
CREATE TABLE kept_vectors (
    text_hash    bytea NOT NULL,
    embedding    smallint NOT NULL REFERENCES embeddings ON DELETE CASCADE,
    vector       halfvec NOT NULL,
    sentences    bytea NOT NULL,                            -- of its sentences, packed: retriever.embedding.pack
    used_at      timestamptz NOT NULL DEFAULT now(),        -- to the hour
    PRIMARY KEY (text_hash, embedding)
);
