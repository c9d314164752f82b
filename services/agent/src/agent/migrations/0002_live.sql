-- Live conversations: where their agents are, what was said in them, what it cost, and what is remembered of people.

-- A turn whose answer may know nothing of what was asked before a moment.
alter table agent.turns add column history_since timestamptz;

create table agent.states (
    chat_id uuid primary key references agent.chats,
    active text,
    visited text[] not null default '{}',
    pending text,
    resume_handle text,
    saved_at timestamptz not null default now()
);

-- One line a side and turn: a line that is told twice is the same line.
create table agent.lines (
    session_id uuid not null,
    turn integer not null check (turn >= 1),
    role text not null check (role in ('user', 'assistant')),
    chat_id uuid not null references agent.chats,
    place bigint generated always as identity,
    text text not null,
    agent text,
    said_at timestamptz not null default now(),
    primary key (session_id, turn, role)
);
create index lines_of_chat on agent.lines (chat_id, place);

create table agent.tokens (
    chat_id uuid not null references agent.chats,
    agent text not null,
    model text not null,
    input_tokens bigint not null default 0,
    output_tokens bigint not null default 0,
    primary key (chat_id, agent, model)
);

-- `terms` are the stems of the words that carry the subject, by which a turn is recalled.
create table agent.memories (
    memory bigint generated always as identity primary key,
    user_id text not null,
    chat_id uuid not null,
    said text not null,
    answered text not null default '',
    terms tsvector not null,
    said_at timestamptz not null default now()
);
create index memories_of_person on agent.memories (user_id, memory);
create index memories_by_term on agent.memories using gin (terms);

-- `subject` is what a sentence is about: a newer one about the same takes its place.
create table agent.facts (
    user_id text not null,
    subject text not null,
    text text not null,
    said_at timestamptz not null default now(),
    primary key (user_id, subject)
);
