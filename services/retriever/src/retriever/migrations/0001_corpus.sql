-- What searches see: the visible corpus, and nothing else.
--
--   documents  1 --- n  chunks  1 --- 1  vectors_N   (one table for each embedding, made by queries/embeddings.sql)
--
-- Staged revisions live in tables of their own (0002), or their vectors would stand in the index that searches walk.

CREATE EXTENSION IF NOT EXISTS vector;

-- A kind of vectors: provider, model and dimensions in one fingerprint.
CREATE TABLE embeddings (
    embedding    smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint  text NOT NULL UNIQUE,
    dimensions   integer NOT NULL CHECK (dimensions > 0)
);

-- The one row that every change of the visible corpus locks: this is what serialises refreshes.
CREATE TABLE corpus (
    one            boolean PRIMARY KEY DEFAULT true CHECK (one),
    version        bigint NOT NULL DEFAULT 0,               -- grows each time something becomes visible
    filled         boolean NOT NULL DEFAULT false,          -- a refresh of the whole tree has finished
    chunks         bigint NOT NULL DEFAULT 0,               -- how many are visible
    serving        smallint REFERENCES embeddings,          -- whose vectors answer; null before the first
    removals_from  bigint NOT NULL DEFAULT 0                -- removed_chunks is complete after this version
);
INSERT INTO corpus DEFAULT VALUES;

-- The visible revision of each path. A deleted path keeps its row, so that a late, lower revision of it is known as late.
CREATE TABLE documents (
    document    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path        text COLLATE "C" NOT NULL UNIQUE,
    revision    bigint NOT NULL,
    sha256      text,                                       -- null: deleted, and so are the columns below
    chunker     text,
    language    text,
    properties  jsonb,
    tags        text[] NOT NULL DEFAULT '{}',               -- lower case, for filters
    day         date,                                       -- of the front matter, else of the save
    text        text,
    saved_at    timestamptz,
    indexed_at  timestamptz NOT NULL DEFAULT now(),
    chunks      integer NOT NULL DEFAULT 0
);
CREATE INDEX documents_tags ON documents USING gin (tags);

-- The passages that may be found. A key is never used twice: it names this text for ever, also in the lexical index.
CREATE TABLE chunks (
    key         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document    bigint NOT NULL REFERENCES documents,
    ordinal     integer NOT NULL,
    id          text NOT NULL,                              -- what sources carry: contracts.documents.chunk_id
    since       bigint NOT NULL,                            -- the corpus version that made it visible
    first_byte  integer NOT NULL,                           -- of the file; end_byte is the first after it
    end_byte    integer NOT NULL,
    first_line  integer NOT NULL,
    last_line   integer NOT NULL,
    heading     text[] NOT NULL,
    plain       text NOT NULL,
    runs        integer[] NOT NULL,                         -- triples, flat: code point, byte, line
    context     text NOT NULL,
    text_hash   bytea NOT NULL,                             -- of the text that was embedded
    trace       text,                                       -- traceparent of the span that ingested it
    UNIQUE (document, ordinal)
);
CREATE INDEX chunks_id ON chunks (id);
CREATE INDEX chunks_since ON chunks (since);
CREATE INDEX chunks_text ON chunks (text_hash);

-- What a replica's lexical index has to forget on its way to a version.
CREATE TABLE removed_chunks (
    version  bigint NOT NULL,
    key      bigint NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (version, key)
);
