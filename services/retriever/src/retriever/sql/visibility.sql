-- Becoming visible: all of this runs in one transaction, under the locks of the refresh and of the corpus.

-- name: lock_corpus
-- The corpus, for the one transaction that changes what is visible.
SELECT version, filled, serving FROM corpus FOR UPDATE

-- name: awaited
-- Whether a document of the refresh has not been staged.
SELECT EXISTS (SELECT FROM manifest WHERE refresh_id = %(refresh_id)s AND state = 'awaited') AS awaited

-- name: count_staged
-- How many documents could become visible, counted up to a limit.
SELECT count(*) AS staged FROM (
    SELECT FROM manifest WHERE refresh_id = %(refresh_id)s AND state = 'staged' LIMIT %(limit)s::bigint
) AS waiting

-- name: take_staged
-- The next documents of the manifest, and what becomes of each. One that was overtaken, by a newer revision that is
-- visible already, becomes nothing.
WITH taken AS (
    UPDATE manifest SET state = 'visible'
    WHERE refresh_id = %(refresh_id)s AND path IN (
        SELECT m.path FROM manifest AS m WHERE refresh_id = %(refresh_id)s AND state = 'staged'
        ORDER BY path LIMIT %(limit)s::bigint
    )
    RETURNING path, revision
)
SELECT taken.path, taken.revision, s.embedded, s.embedding_ms, s.saved_at,
       (SELECT count(*) FROM staged_chunks AS c WHERE c.path = s.path AND c.revision = s.revision) AS chunks,
       CASE
           WHEN s.sha256 IS NULL AND d.sha256 IS NULL THEN 'nothing'
           WHEN s.sha256 IS NULL THEN 'deleted'
           WHEN d.sha256 IS NULL THEN 'added'
           WHEN s.sha256 = d.sha256 AND s.chunker = d.chunker THEN 'unchanged'
           ELSE 'changed'
       END AS became
FROM taken
JOIN revisions AS s ON s.path = taken.path AND s.revision = taken.revision
LEFT JOIN documents AS d ON d.path = taken.path
WHERE d.revision IS NULL OR d.revision < taken.revision
ORDER BY taken.path

-- name: remove_chunks
-- What the documents consisted of leaves, and lexical indexes are told.
WITH gone AS (
    DELETE FROM chunks WHERE document IN (SELECT document FROM documents WHERE path = ANY(%(paths)s))
    RETURNING key
)
INSERT INTO removed_chunks (version, key) SELECT %(version)s, key FROM gone

-- name: show_documents
-- The documents at their new revisions.
INSERT INTO documents (path, revision, sha256, chunker, language, properties, tags, day, text, saved_at, indexed_at,
                       chunks)
SELECT s.path, s.revision, s.sha256, s.chunker, s.language, s.properties, s.tags, s.day, s.text, s.saved_at, %(at)s,
       (SELECT count(*) FROM staged_chunks AS c WHERE c.path = s.path AND c.revision = s.revision)
FROM revisions AS s
JOIN unnest(%(paths)s::text[], %(revisions)s::bigint[]) AS shown (path, revision) USING (path, revision)
ON CONFLICT (path) DO UPDATE SET
    revision = excluded.revision, sha256 = excluded.sha256, chunker = excluded.chunker,
    language = excluded.language, properties = excluded.properties, tags = excluded.tags, day = excluded.day,
    text = excluded.text, saved_at = excluded.saved_at, indexed_at = excluded.indexed_at, chunks = excluded.chunks

-- name: show_chunks
-- The chunks of the documents that were just shown.
INSERT INTO chunks (document, ordinal, id, since, first_byte, end_byte, first_line, last_line, heading, plain, runs,
                    context, text_hash, trace)
SELECT d.document, c.ordinal, c.id, %(version)s, c.first_byte, c.end_byte, c.first_line, c.last_line, c.heading,
       c.plain, c.runs, c.context, c.text_hash, s.trace
FROM unnest(%(paths)s::text[], %(revisions)s::bigint[]) AS shown (path, revision)
JOIN revisions AS s USING (path, revision)
JOIN staged_chunks AS c USING (path, revision)
JOIN documents AS d USING (path)
ORDER BY s.path, c.ordinal

-- name: forget_shown
-- The revisions that are visible now, and the lower ones that nobody will ever see.
DELETE FROM revisions AS s USING documents AS d
WHERE d.path = ANY(%(paths)s) AND s.path = d.path AND s.revision <= d.revision

-- name: count_refresh
-- What became of the documents that were shown.
UPDATE refreshes
SET added = added + %(added)s, changed = changed + %(changed)s, deleted = deleted + %(deleted)s,
    unchanged = unchanged + %(unchanged)s, embedded = embedded + %(embedded)s
WHERE refresh_id = %(refresh_id)s

-- name: finish_refresh
-- The refresh is visible in full.
UPDATE refreshes SET status = 'finished', finished_at = %(at)s WHERE refresh_id = %(refresh_id)s
RETURNING refresh_id, status, reason, rejected_path, added, changed, deleted, unchanged, embedded,
          coalesce(started_at, opened_at) AS started_at, finished_at

-- name: advance_corpus
-- A new version of the corpus.
UPDATE corpus SET version = %(version)s, chunks = chunks + %(more)s

-- name: fill_corpus
-- From now on a refresh becomes visible in one piece.
UPDATE corpus SET filled = true WHERE NOT filled
