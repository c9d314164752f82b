-- Running turns: claim, heartbeat, end; and what any agent does for turns whose worker is gone.

-- name: claim
-- The oldest waiting turn of a chat that has none running, and none waiting before it. The index
-- turns_running_in_chat refuses what two claims at once could still get wrong.
update agent.turns
set status = 'running', worker = %(worker)s, claimed_at = clock_timestamp(), heartbeat_at = clock_timestamp()
where turn_id = (
    select candidate.turn_id
    from agent.turns as candidate
    where candidate.status = 'waiting'
        and candidate.deadline_at > now()
        and not exists (
            select 1
            from agent.turns as other
            where other.chat_id = candidate.chat_id
                and (other.status = 'running' or (other.status = 'waiting' and other.place < candidate.place))
        )
    order by candidate.place
    limit 1
    for update skip locked
)
returning
    turn_id, chat_id, question, filter, prefetch_id, trace_id, traceparent, asked_at, history_since,
    extract(epoch from claimed_at - asked_at)::float8 as waited_s,
    extract(epoch from deadline_at - claimed_at)::float8 as left_s;

-- name: heartbeat
-- One statement a process and second; what it does not return is no longer ours to run.
update agent.turns
set heartbeat_at = clock_timestamp()
where worker = %(worker)s and status = 'running'
returning turn_id, cancel_reason;

-- name: end_turn
-- Ends a running turn of this worker, once; `honour_cancel` leaves a turn alone that was meanwhile cancelled.
update agent.turns
set status = %(status)s, error_code = %(error_code)s, error_message = %(error_message)s,
    ended_at = clock_timestamp()
where turn_id = %(turn_id)s and worker = %(worker)s and status = 'running'
    and (not %(honour_cancel)s or cancel_reason is null)
returning turn_id;

-- name: ended_as
-- How a turn of this worker stands: asked when it is not known whether its end was stored.
select status from agent.turns where turn_id = %(turn_id)s and worker = %(worker)s;

-- name: cancel_reason
-- Why a running turn of this worker was cancelled, if it was; no row when the turn is not ours any more.
select cancel_reason
from agent.turns
where turn_id = %(turn_id)s and worker = %(worker)s and status = 'running';

-- name: store_answer
-- The text of an answer.
insert into agent.answers (turn_id, answer, abstained) values (%(turn_id)s, %(answer)s, %(abstained)s);

-- name: store_source
-- One source of an answer, at its place in the citations.
insert into agent.sources (turn_id, place, source) values (%(turn_id)s, %(place)s, %(source)s);

-- name: store_sentence
-- One sentence of an answer, as it was judged.
insert into agent.sentences (turn_id, place, span_start, span_end, verdict, support)
values (%(turn_id)s, %(place)s, %(span_start)s, %(span_end)s, %(verdict)s, %(support)s);

-- name: fail_lost
-- Turns whose worker shows no heartbeat any more: they are never run again (T10).
update agent.turns
set status = 'failed', error_code = 'worker_lost', error_message = %(message)s, ended_at = clock_timestamp()
where status = 'running' and heartbeat_at < clock_timestamp() - %(lost_after_s)s * interval '1 second'
returning turn_id, extract(epoch from clock_timestamp() - asked_at)::float8 as age_s;

-- name: fail_late
-- Waiting turns that nobody could begin in time (T3).
update agent.turns
set status = 'failed', error_code = 'deadline', error_message = %(message)s, ended_at = clock_timestamp()
where status = 'waiting' and deadline_at <= clock_timestamp()
returning turn_id, extract(epoch from clock_timestamp() - asked_at)::float8 as age_s;

-- name: untold
-- Ended turns whose last frame may be missing. Those that ended just now are left to whoever ended them; the row stays
-- locked while the frame is written, so that one agent alone writes it.
select turn_id
from agent.turns
where not told and ended_at < clock_timestamp() - %(after_s)s * interval '1 second'
order by ended_at
limit 1
for update skip locked;

-- name: mark_told
-- Whoever reads along has seen the end.
update agent.turns set told = true where turn_id = %(turn_id)s;
