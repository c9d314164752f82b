-- One search: all of this reads one snapshot. {vectors} is the table of the embedding that serves.

-- name: snapshot
-- What this search sees: the corpus version, and the embedding that serves.
SELECT c.version, c.chunks, c.removals_from, e.embedding, e.fingerprint
FROM corpus AS c LEFT JOIN embeddings AS e ON e.embedding = c.serving

-- name: matching_documents
-- The documents that a filter leaves, and how many chunks they have.
SELECT coalesce(array_agg(document), '{}') AS documents, coalesce(sum(chunks), 0)::bigint AS chunks
FROM documents
WHERE sha256 IS NOT NULL
  AND (%(folder)s::text IS NULL OR starts_with(path, %(folder)s::text || '/'))
  AND (%(folders)s::text[] = '{}'
       OR EXISTS (SELECT FROM unnest(%(folders)s::text[]) AS one WHERE starts_with(path, one || '/')))
  AND (%(tags)s::text[] = '{}' OR tags && %(tags)s::text[])
  AND (%(since)s::date IS NULL OR day >= %(since)s::date)
  AND (%(until)s::date IS NULL OR day <= %(until)s::date)

-- name: nearest_exactly
-- The score is no bare distance, so that the planner cannot take the approximate index.
SELECT key, id, 1 - (vector <=> %(query)s::halfvec) AS score
FROM {vectors}
WHERE %(documents)s::bigint[] IS NULL OR document = ANY(%(documents)s::bigint[])
ORDER BY score DESC, id
LIMIT %(limit)s

-- name: scan_until_filled
-- An approximate scan that stops early would leave a filter with fewer hits than were asked for.
SELECT set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true)

-- name: nearest_by_index
-- The nearest by the approximate index, ties in order of id.
SELECT key, id, score FROM (
    SELECT key, id, 1 - (vector <=> %(query)s::halfvec) AS score
    FROM {vectors}
    WHERE %(documents)s::bigint[] IS NULL OR document = ANY(%(documents)s::bigint[])
    ORDER BY vector <=> %(query)s::halfvec
    LIMIT %(limit)s
) AS nearest
ORDER BY score DESC, id

-- name: visible_candidates
-- Of the lexical index's candidates, those that this snapshot holds and the filter allows.
SELECT key, id FROM chunks
WHERE key = ANY(%(keys)s) AND (%(documents)s::bigint[] IS NULL OR document = ANY(%(documents)s::bigint[]))

-- name: passages
-- The hits and their neighbours in the same file, each once, in file and ordinal order.
WITH wanted AS (
    SELECT DISTINCT h.document, n.ordinal
    FROM chunks AS h,
         LATERAL generate_series(h.ordinal - %(neighbours)s::integer, h.ordinal + %(neighbours)s::integer)
             AS n (ordinal)
    WHERE h.id = ANY(%(ids)s)
)
SELECT c.key, c.id, c.document, d.path, c.ordinal, c.first_line, c.last_line, c.heading, c.plain, c.runs, c.context,
       c.trace, d.sha256 AS version, d.saved_at, d.language, d.properties ->> 'title' AS title, k.sentences
FROM wanted JOIN chunks AS c USING (document, ordinal) JOIN documents AS d USING (document)
LEFT JOIN kept_vectors AS k ON k.text_hash = c.text_hash AND k.embedding = %(embedding)s
ORDER BY d.path, c.ordinal

-- name: added_chunks
-- What a lexical index at a version lacks; beside a chunk stands the text of its neighbours.
SELECT c.key, c.document, d.language, d.properties ->> 'title' AS title, d.properties -> 'aliases' AS aliases,
       c.heading, c.context, c.plain,
       ARRAY(SELECT n.plain FROM chunks AS n
             WHERE n.document = c.document AND n.ordinal IN (c.ordinal - 1, c.ordinal + 1)
             ORDER BY n.ordinal) AS beside
FROM chunks AS c JOIN documents AS d USING (document)
WHERE c.since > %(version)s AND c.key > %(after)s
ORDER BY c.key LIMIT %(limit)s

-- name: removed_chunks
-- What a lexical index at a version holds too much.
SELECT key FROM removed_chunks WHERE version > %(version)s

-- name: forget_removals
-- Replicas that stood still for longer than this fill their index anew.
WITH gone AS (
    DELETE FROM removed_chunks WHERE at < clock_timestamp() - make_interval(secs => %(after_s)s) RETURNING version
)
UPDATE corpus SET removals_from = greatest(removals_from, (SELECT max(version) FROM gone))
WHERE EXISTS (SELECT FROM gone)

-- name: corpus_languages
-- The languages of the documents, the most frequent first.
SELECT language FROM documents WHERE sha256 IS NOT NULL GROUP BY language ORDER BY count(*) DESC, language

-- name: one_snapshot
-- The first statement of a transaction whose every read sees the corpus as it was then.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY
