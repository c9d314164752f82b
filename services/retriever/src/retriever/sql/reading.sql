-- What is asked about the corpus, beside searches.

-- name: corpus_state
-- The corpus in one row.
SELECT c.version, c.filled, c.chunks, e.fingerprint AS serving,
       EXISTS (SELECT FROM refreshes WHERE status IN ('open', 'sealed')) AS busy
FROM corpus AS c LEFT JOIN embeddings AS e ON e.embedding = c.serving

-- name: last_refresh
-- The last refresh that ended.
SELECT refresh_id, status, reason, rejected_path, added, changed, deleted, unchanged, embedded,
       coalesce(started_at, opened_at) AS started_at, finished_at
FROM refreshes WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1

-- name: last_tree_refresh
-- What decides whether an index that was never filled counts as failed.
SELECT status, reason FROM refreshes WHERE finished_at IS NOT NULL AND (scope = 'tree' OR status = 'failed')
ORDER BY finished_at DESC LIMIT 1

-- name: unannounced_refreshes
-- Ends that were committed by a process that died before it could say so.
SELECT refresh_id, status, reason, rejected_path, added, changed, deleted, unchanged, embedded,
       coalesce(started_at, opened_at) AS started_at, finished_at
FROM refreshes
WHERE NOT announced AND finished_at < clock_timestamp() - make_interval(secs => %(after_s)s)

-- name: announced
-- Its end is known to the others.
UPDATE refreshes SET announced = true WHERE refresh_id = %(refresh_id)s

-- name: progress
-- Of the refresh that has most left to do. A revision that a newer one has overtaken is not to be done any more; and
-- the folder is compared once at a time, so a refresh of the tree that began before another is over, whatever it awaits.
WITH running AS (
    SELECT r.refresh_id, m.path, m.revision, m.state
    FROM refreshes AS r JOIN manifest AS m USING (refresh_id)
    WHERE r.status = 'sealed'
      AND NOT (r.scope = 'tree' AND EXISTS (SELECT FROM refreshes AS later
                                            WHERE later.scope = 'tree' AND later.started_at > r.started_at))
)
SELECT o.refresh_id, count(*) AS documents, count(*) FILTER (WHERE o.state <> 'awaited') AS staged,
       count(*) FILTER (WHERE o.state = 'visible') AS visible
FROM running AS o
WHERE NOT EXISTS (SELECT FROM running AS n WHERE n.path = o.path AND n.revision > o.revision)
  AND NOT EXISTS (SELECT FROM documents AS d WHERE d.path = o.path AND d.revision > o.revision)
GROUP BY o.refresh_id
HAVING bool_or(o.state <> 'visible')
ORDER BY count(*) FILTER (WHERE o.state = 'awaited') DESC, count(*) DESC, o.refresh_id LIMIT 1

-- name: manifest_documents
-- Every visible document, without its text.
SELECT path, revision, sha256, chunker, chunks, language, properties, saved_at, indexed_at
FROM documents WHERE sha256 IS NOT NULL ORDER BY path

-- name: document_text
-- The visible text of a document.
SELECT sha256, saved_at, properties, text FROM documents WHERE path = %(path)s AND sha256 IS NOT NULL

-- name: named_documents
-- How the documents are called, those that changed last first.
SELECT path, language, properties ->> 'title' AS title, properties -> 'aliases' AS aliases, tags
FROM documents WHERE sha256 IS NOT NULL ORDER BY revision DESC LIMIT %(limit)s

-- name: newest_chunks
-- What is said, the newest first.
SELECT d.language, c.heading, c.plain
FROM chunks AS c JOIN documents AS d USING (document) ORDER BY c.key DESC LIMIT %(limit)s
