-- Staging: everything that happens to a refresh before anybody sees it.

-- name: open_refresh
-- Whichever event comes first opens its refresh.
INSERT INTO refreshes (refresh_id) VALUES (%(refresh_id)s) ON CONFLICT DO NOTHING

-- name: embedding_goes_on
-- Some texts of a long document have their vectors; what ended is left as it is.
INSERT INTO refreshes (refresh_id, texts, texts_at) VALUES (%(refresh_id)s, %(texts)s, clock_timestamp())
ON CONFLICT (refresh_id) DO UPDATE SET texts = refreshes.texts + excluded.texts, texts_at = excluded.texts_at
WHERE refreshes.status IN ('open', 'sealed')

-- name: hold_refresh
-- Many documents of a refresh are staged at once; its seal and its end wait for them, and they for those.
SELECT status FROM refreshes WHERE refresh_id = %(refresh_id)s FOR SHARE

-- name: lock_refresh
-- A refresh, for the one handler that ends its staging or shows it.
SELECT status, scope, opened_at, started_at, unchanged, added, changed, deleted, embedded
FROM refreshes WHERE refresh_id = %(refresh_id)s FOR UPDATE

-- name: standing_of
-- Whether a revision is still wanted: its refresh's status, what is visible of its path, and whether it is staged.
SELECT
    (SELECT status FROM refreshes WHERE refresh_id = %(refresh_id)s) AS status,
    (SELECT revision FROM documents WHERE path = %(path)s) AS visible,
    EXISTS (SELECT FROM revisions WHERE path = %(path)s AND revision = %(revision)s) AS staged

-- name: stage_revision
-- Staged once, however often it is delivered.
INSERT INTO revisions (path, revision, refresh_id, sha256, chunker, language, properties, tags, day, text, saved_at,
                       trace, embedded, embedding_ms)
VALUES (%(path)s, %(revision)s, %(refresh_id)s, %(sha256)s, %(chunker)s, %(language)s, %(properties)s, %(tags)s,
        %(day)s, %(text)s, %(saved_at)s, %(trace)s, %(embedded)s, %(embedding_ms)s)
ON CONFLICT DO NOTHING
RETURNING true AS staged

-- name: stage_chunk
-- A chunk of a staged revision.
INSERT INTO staged_chunks (path, revision, ordinal, id, first_byte, end_byte, first_line, last_line, heading, plain,
                           runs, context, text_hash)
VALUES (%(path)s, %(revision)s, %(ordinal)s, %(id)s, %(first_byte)s, %(end_byte)s, %(first_line)s, %(last_line)s,
        %(heading)s, %(plain)s, %(runs)s, %(context)s, %(text_hash)s)

-- name: stage_deletion
-- A deletion is staged like any other revision.
INSERT INTO revisions (path, revision, refresh_id, trace)
VALUES (%(path)s, %(revision)s, %(refresh_id)s, %(trace)s)
ON CONFLICT DO NOTHING

-- name: mark_staged
-- A revision that came late counts as staged too: a newer one is visible in its place.
UPDATE manifest SET state = 'staged'
WHERE refresh_id = %(refresh_id)s AND path = %(path)s AND revision = %(revision)s AND state = 'awaited'

-- name: overtaken_refreshes
-- Those that await nothing but what is visible at newer revisions already; its events may never come.
SELECT r.refresh_id FROM refreshes AS r
WHERE r.status = 'sealed' AND NOT EXISTS (
    SELECT FROM manifest AS m LEFT JOIN documents AS d USING (path)
    WHERE m.refresh_id = r.refresh_id AND m.state = 'awaited' AND (d.revision IS NULL OR d.revision < m.revision)
)

-- name: pass_over
-- A newer revision of them is visible: nothing is awaited in their place.
UPDATE manifest AS m SET state = 'staged'
FROM documents AS d
WHERE m.refresh_id = %(refresh_id)s AND m.state = 'awaited' AND d.path = m.path AND d.revision >= m.revision

-- name: seal
-- From now on the refresh may become visible.
UPDATE refreshes
SET status = 'sealed', started_at = %(started_at)s, unchanged = %(unchanged)s, scope = %(scope)s
WHERE refresh_id = %(refresh_id)s

-- name: fill_manifest
-- What came before the seal is staged already, or has been overtaken by something visible.
INSERT INTO manifest (refresh_id, path, revision, state)
SELECT %(refresh_id)s, listed.path, listed.revision,
       CASE WHEN staged.path IS NOT NULL OR visible.revision >= listed.revision THEN 'staged' ELSE 'awaited' END
FROM (
    SELECT path COLLATE "C" AS path, max(revision) AS revision
    FROM unnest(%(paths)s::text[], %(revisions)s::bigint[]) AS listed (path, revision)
    GROUP BY 1
) AS listed
LEFT JOIN revisions AS staged ON staged.path = listed.path AND staged.revision = listed.revision
LEFT JOIN documents AS visible ON visible.path = listed.path

-- name: fail_refresh
-- The end of a refresh that left the corpus as it was.
UPDATE refreshes
SET status = 'failed', reason = %(reason)s, rejected_path = %(path)s, finished_at = clock_timestamp(),
    embedded = embedded + (SELECT coalesce(sum(r.embedded), 0) FROM revisions AS r
                           WHERE r.refresh_id = %(refresh_id)s)
WHERE refresh_id = %(refresh_id)s
RETURNING refresh_id, status, reason, rejected_path, added, changed, deleted, unchanged, embedded,
          coalesce(started_at, opened_at) AS started_at, finished_at

-- name: forget_staged
-- Their vectors stay, so that the next refresh need not pay for them again.
DELETE FROM revisions WHERE refresh_id = %(refresh_id)s

-- name: abandoned_refreshes
-- Those that nothing has happened to for a while, when nothing has happened to any other either: as long as one is
-- being staged, the missing events of another may stand behind it in the same queue.
WITH active AS (
    SELECT r.refresh_id, greatest(r.opened_at, r.texts_at, max(s.staged_at)) AS at
    FROM refreshes AS r LEFT JOIN revisions AS s USING (refresh_id)
    WHERE r.status IN ('open', 'sealed')
    GROUP BY r.refresh_id
)
SELECT refresh_id FROM active
WHERE (SELECT max(at) FROM active) < clock_timestamp() - make_interval(secs => %(after_s)s)

-- name: forget_old_refreshes
-- Refreshes that ended long ago; the last one is always remembered.
DELETE FROM refreshes
WHERE status IN ('finished', 'failed') AND finished_at < clock_timestamp() - make_interval(secs => %(after_s)s)
  AND refresh_id <> (SELECT refresh_id FROM refreshes WHERE finished_at IS NOT NULL
                     ORDER BY finished_at DESC LIMIT 1)

-- name: refresh_state
-- How far a refresh has come.
SELECT r.status, r.texts,
       count(m.path) AS documents,
       count(m.path) FILTER (WHERE m.state <> 'awaited') AS staged,
       (SELECT count(*) FROM revisions AS s WHERE s.refresh_id = r.refresh_id) AS unsealed
FROM refreshes AS r LEFT JOIN manifest AS m USING (refresh_id)
WHERE r.refresh_id = %(refresh_id)s
GROUP BY r.refresh_id
