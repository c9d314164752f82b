-- Vectors: what was computed, what is visible, and which embedding answers. {vectors} is the table of one embedding.

-- name: register_embedding
-- An embedding that was never used here; nothing when it is known.
INSERT INTO embeddings (fingerprint, dimensions) VALUES (%(fingerprint)s, %(dimensions)s)
ON CONFLICT (fingerprint) DO NOTHING
RETURNING embedding

-- name: embedding_of
-- An embedding by its fingerprint.
SELECT embedding, dimensions FROM embeddings WHERE fingerprint = %(fingerprint)s

-- name: all_embeddings
-- Every embedding that has a table.
SELECT embedding, fingerprint, dimensions FROM embeddings ORDER BY embedding

-- name: create_vectors
-- The type holds the dimension, so a wrong vector cannot enter. Stored plainly: a scan of vectors that were moved out of
-- line costs five times as much.
CREATE TABLE {vectors} (
    key       bigint PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    document  bigint NOT NULL,
    id        text NOT NULL,
    vector    halfvec({dimensions}) NOT NULL
)

-- name: store_plainly
-- See create_vectors.
ALTER TABLE {vectors} ALTER COLUMN vector SET STORAGE PLAIN

-- name: index_vectors
-- The approximate index.
CREATE INDEX ON {vectors} USING hnsw (vector halfvec_cosine_ops)

-- name: index_vector_documents
-- For filters.
CREATE INDEX ON {vectors} (document)

-- name: serve_first
-- The first embedding serves at once; a later one when it is complete.
UPDATE corpus SET serving = %(embedding)s WHERE serving IS NULL

-- name: serve_instead
-- The new embedding answers from now on.
UPDATE corpus SET serving = %(embedding)s, version = version + 1

-- name: forget_other_embeddings
-- Their kept vectors go with them; their tables are dropped later, since searches that began before may still read them.
DELETE FROM embeddings WHERE embedding <> %(embedding)s

-- name: orphaned_vectors
-- Tables of embeddings that were forgotten.
SELECT substring(c.relname FROM 9)::smallint AS embedding
FROM pg_class AS c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ '^vectors_[0-9]+$'
  AND NOT EXISTS (SELECT FROM embeddings AS e WHERE c.relname = 'vectors_' || e.embedding)

-- name: lock_orphan
-- Dropping the table needs both alone, because of its foreign key. Whoever waited for that would hold up every search
-- that comes after.
LOCK TABLE chunks, {vectors} IN ACCESS EXCLUSIVE MODE NOWAIT

-- name: drop_vectors
-- An embedding that serves no more.
DROP TABLE {vectors}

-- name: touch_vectors
-- What is about to be relied on is not cleared away meanwhile; written once an hour at most.
UPDATE kept_vectors SET used_at = clock_timestamp()
WHERE embedding = %(embedding)s AND text_hash = ANY(%(hashes)s)
  AND used_at < clock_timestamp() - interval '1 hour'

-- name: known_vectors
-- Which texts need no embedding any more.
SELECT text_hash FROM kept_vectors WHERE embedding = %(embedding)s AND text_hash = ANY(%(hashes)s)

-- name: keep_vector
-- A vector, under the name of its text.
INSERT INTO kept_vectors (text_hash, embedding, vector, sentences)
VALUES (%(text_hash)s, %(embedding)s, %(vector)s::halfvec, %(sentences)s)
ON CONFLICT DO NOTHING

-- name: show_vectors
-- Of the chunks that became visible at this version, in the transaction that shows them.
INSERT INTO {vectors} (key, document, id, vector)
SELECT c.key, c.document, c.id, k.vector
FROM chunks AS c JOIN kept_vectors AS k ON k.text_hash = c.text_hash AND k.embedding = %(embedding)s
WHERE c.since = %(version)s

-- name: count_without_vector
-- How many visible chunks an embedding lacks.
SELECT count(*) AS missing FROM chunks AS c
WHERE NOT EXISTS (SELECT FROM {vectors} AS v WHERE v.key = c.key)

-- name: chunks_without_vector
-- The next visible chunks that an embedding lacks.
SELECT c.key, c.text_hash, d.properties ->> 'title' AS title, c.heading, c.context, c.plain
FROM chunks AS c JOIN documents AS d USING (document)
WHERE c.key > %(after)s AND NOT EXISTS (SELECT FROM {vectors} AS v WHERE v.key = c.key)
ORDER BY c.key LIMIT %(limit)s

-- name: add_vectors
-- A chunk that left meanwhile gets none; FOR KEY SHARE keeps one from leaving in between.
INSERT INTO {vectors} (key, document, id, vector)
SELECT c.key, c.document, c.id, k.vector
FROM (SELECT key, document, id, text_hash FROM chunks WHERE key = ANY(%(keys)s) FOR KEY SHARE) AS c
JOIN kept_vectors AS k ON k.text_hash = c.text_hash AND k.embedding = %(embedding)s
ON CONFLICT DO NOTHING

-- name: forget_unused_vectors
-- A text that is neither visible nor staged may come back within this time; later it is paid for again.
DELETE FROM kept_vectors AS k
WHERE k.used_at < clock_timestamp() - make_interval(secs => %(after_s)s)
  AND NOT EXISTS (SELECT FROM chunks AS c WHERE c.text_hash = k.text_hash)
  AND NOT EXISTS (SELECT FROM staged_chunks AS s WHERE s.text_hash = k.text_hash)
