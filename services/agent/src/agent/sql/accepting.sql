-- Taking a question in: all in one transaction, under one short lock, so that the limits hold exactly.

-- name: lock_admission
-- Accepting is serial over all replicas for the few statements it takes; 7215 is ours and means nothing else.
select pg_advisory_xact_lock(7215, 1);

-- name: count_active
-- How many turns wait or run in this chat, and how many chats have any.
select
    count(*) filter (where chat_id = %(chat_id)s) as in_chat,
    count(distinct chat_id) filter (where chat_id <> %(chat_id)s) as other_chats
from agent.turns
where status in ('waiting', 'running');

-- name: store_question
-- The question, waiting, in a chat that its first question opens; its deadline counts from now, the wait included.
with opened as (insert into agent.chats (chat_id) values (%(chat_id)s) on conflict do nothing)
insert into agent.turns (turn_id, chat_id, question, filter, prefetch_id, trace_id, traceparent, history_since,
    deadline_at
)
values (
    %(turn_id)s, %(chat_id)s, %(question)s, %(filter)s, %(prefetch_id)s, %(trace_id)s, %(traceparent)s,
    %(history_since)s, now() + %(deadline_s)s * interval '1 second'
);
