-- What a person does to a turn after asking, and what is read of turns.

-- name: turn
-- One turn, with its answer when there is one.
select turns.*, answers.answer, answers.abstained
from agent.turns left join agent.answers using (turn_id)
where turn_id = %(turn_id)s;

-- name: turns_of_chat
-- The turns of a chat, oldest first.
select turns.*, answers.answer, answers.abstained
from agent.turns left join agent.answers using (turn_id)
where chat_id = %(chat_id)s
order by place;

-- name: sources
-- What the answers of some turns cite, in the order of the citations.
select turn_id, source
from agent.sources
where turn_id = any(%(turn_ids)s)
order by turn_id, place;

-- name: sentences
-- The sentences of the answers of some turns, in their order.
select turn_id, place, span_start, span_end, verdict, support
from agent.sentences
where turn_id = any(%(turn_ids)s)
order by turn_id, place;

-- name: history
-- The newest turns that a model may know of, newest first (T4), those of live sessions among them.
select question, status, heard, answer
from (
    select turns.asked_at as said_at, turns.place, turns.question, turns.status, turns.heard, answers.answer
    from agent.turns join agent.answers using (turn_id)
    where chat_id = %(chat_id)s and status in ('completed', 'interrupted')
    union all
    select
        min(said_at), min(place),
        string_agg(text, ' ' order by place) filter (where role = 'user'),
        'completed', null,
        coalesce(string_agg(text, ' ' order by place) filter (where role = 'assistant'), '')
    from agent.lines
    where chat_id = %(chat_id)s
    group by session_id, turn
    having bool_or(role = 'user')
) as said
where %(since)s::timestamptz is null or said_at >= %(since)s
order by said_at desc, place desc
limit %(turns)s;

-- name: newest_answered
-- The few newest turns with an answer: what "go on" and "say that again" speak of.
select turns.*, answers.answer, answers.abstained
from agent.turns join agent.answers using (turn_id)
where chat_id = %(chat_id)s and status in ('completed', 'interrupted')
order by place desc
limit 4;

-- name: cancel
-- A waiting turn ends here and now; a running one is flagged for its worker; a completed one that was cut short by
-- speech becomes `interrupted`, unless it had been heard to its end.
update agent.turns
set
    status = case
        when status = 'waiting' then 'cancelled'
        when status = 'completed' then 'interrupted'
        else status
    end,
    ended_at = case when status = 'waiting' then clock_timestamp() else ended_at end,
    error_code = case when status = 'waiting' then %(error_code)s end,
    error_message = case when status = 'waiting' then %(error_message)s end,
    cancel_reason = coalesce(cancel_reason, %(reason)s),
    heard = case when %(reason)s = 'interrupted' then greatest(heard, %(heard)s) else heard end
where turn_id = %(turn_id)s
    and (
        status in ('waiting', 'running')
        or (
            status = 'completed' and %(reason)s = 'interrupted'
            and %(heard)s < (select char_length(answer) from agent.answers where turn_id = %(turn_id)s)
        )
    )
returning status;

-- name: heard
-- How much was heard only grows: a report that comes late or twice takes nothing back.
update agent.turns set heard = greatest(heard, %(characters)s) where turn_id = %(turn_id)s returning turn_id;
