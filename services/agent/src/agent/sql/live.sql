-- Live conversations: states, lines, tokens, memories, facts.

-- name: open_chat
-- A chat is opened by whatever is first told of it.
insert into agent.chats (chat_id) values (%(chat_id)s) on conflict do nothing;

-- name: state
-- Where the agents of a chat are.
select active, visited, pending, resume_handle from agent.states where chat_id = %(chat_id)s;

-- name: keep_state
-- The newest state takes the place of the one before.
insert into agent.states (chat_id, active, visited, pending, resume_handle)
values (%(chat_id)s, %(active)s, %(visited)s, %(pending)s, %(resume_handle)s)
on conflict (chat_id) do update
set active = excluded.active, visited = excluded.visited, pending = excluded.pending,
    resume_handle = excluded.resume_handle, saved_at = now();

-- name: keep_line
-- A line of a live session, once.
insert into agent.lines (session_id, turn, role, chat_id, text, agent, said_at)
values (%(session_id)s, %(turn)s, %(role)s, %(chat_id)s, %(text)s, %(agent)s, clock_timestamp())
on conflict do nothing;

-- name: newest_lines
-- The newest lines of a chat, newest first: those of turns that have an answer, and those of live sessions.
select role, text, agent, said_at
from (
    select asked_at as said_at, place as first, 0 as second, 'user' as role, question as text, null as agent
    from agent.turns
    where chat_id = %(chat_id)s and status in ('completed', 'interrupted')
    union all
    select asked_at, place, 1, 'assistant',
        case when status = 'interrupted' then left(answer, coalesce(heard, 0)) else answer end, null
    from agent.turns join agent.answers using (turn_id)
    where chat_id = %(chat_id)s and status in ('completed', 'interrupted')
    union all
    select said_at, place, 0, role, text, agent from agent.lines where chat_id = %(chat_id)s
) as said
where text <> ''
order by said_at desc, first desc, second desc
limit %(most)s;

-- name: spend
-- Tokens of an agent and model, added up.
insert into agent.tokens (chat_id, agent, model, input_tokens, output_tokens)
values (%(chat_id)s, %(agent)s, %(model)s, %(input_tokens)s, %(output_tokens)s)
on conflict (chat_id, agent, model) do update
set input_tokens = tokens.input_tokens + excluded.input_tokens,
    output_tokens = tokens.output_tokens + excluded.output_tokens;

-- name: spent
-- What a chat cost, by agent and model.
select agent, model, input_tokens, output_tokens
from agent.tokens where chat_id = %(chat_id)s
order by agent, model;

-- name: remember
-- A complete turn of a person.
insert into agent.memories (user_id, chat_id, said, answered, terms, said_at)
values (%(user_id)s, %(chat_id)s, %(said)s, %(answered)s, to_tsvector('simple', %(terms)s), clock_timestamp());

-- name: forget_oldest
-- A person's memory has a bound; what is beyond it is forgotten, the oldest first.
delete from agent.memories
where user_id = %(user_id)s and memory <= (
    select memory from agent.memories
    where user_id = %(user_id)s order by memory desc offset %(kept)s limit 1
);

-- name: recall
-- The turns of a person that share words with a query, the most telling first, and of equal ones the newest.
select chat_id, said, answered, said_at
from agent.memories
where user_id = %(user_id)s and terms @@ to_tsquery('simple', %(query)s)
order by ts_rank(terms, to_tsquery('simple', %(query)s)) desc, memory desc
limit %(most)s;

-- name: newest_memories
-- The newest turns of a person, newest first.
select chat_id, said, answered, said_at
from agent.memories where user_id = %(user_id)s
order by memory desc limit %(most)s;

-- name: forget
-- A person's whole memory goes.
delete from agent.memories where user_id = %(user_id)s;

-- name: keep_fact
-- What a person said of themselves; the newest about a subject counts.
insert into agent.facts (user_id, subject, text, said_at)
values (%(user_id)s, %(subject)s, %(text)s, clock_timestamp())
on conflict (user_id, subject) do update set text = excluded.text, said_at = excluded.said_at;

-- name: facts
-- A person's profile, newest first.
select text, said_at from agent.facts where user_id = %(user_id)s order by said_at desc, subject limit %(most)s;

-- name: erase_facts
-- The profile goes.
delete from agent.facts where user_id = %(user_id)s;
