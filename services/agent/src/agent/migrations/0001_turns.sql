-- Chats, their turns, and what was answered. The schema `agent` itself is made by whoever applies this file.

create table agent.chats (
    chat_id uuid primary key,
    opened_at timestamptz not null default now()
);

create table agent.turns (
    turn_id uuid primary key,
    chat_id uuid not null references agent.chats,
    -- The order in which questions were accepted; the clock alone cannot tell two of one microsecond apart.
    place bigint generated always as identity,
    question text not null,
    filter jsonb not null default '{}',
    prefetch_id uuid,
    trace_id text not null,
    -- Any replica that runs the turn continues the trace that asked for it.
    traceparent text not null,
    status text not null default 'waiting'
        check (status in ('waiting', 'running', 'completed', 'interrupted', 'cancelled', 'failed')),
    asked_at timestamptz not null default now(),
    deadline_at timestamptz not null,
    worker text,
    claimed_at timestamptz,
    heartbeat_at timestamptz,
    cancel_reason text check (cancel_reason in ('stopped', 'interrupted')),
    heard integer check (heard >= 0),
    error_code text,
    error_message text,
    ended_at timestamptz,
    -- Whether the last frame, `done` or `error`, was written for those who read along.
    told boolean not null default false,
    check ((status = 'running') = (worker is not null and ended_at is null)),
    check ((status in ('waiting', 'running')) = (ended_at is null))
);

-- One turn of a chat at a time, whatever the workers do.
create unique index turns_running_in_chat on agent.turns (chat_id) where status = 'running';
create index turns_of_chat on agent.turns (chat_id, place);
create index turns_active on agent.turns (place) where status in ('waiting', 'running');
create index turns_untold on agent.turns (ended_at) where not told and ended_at is not null;

create table agent.answers (
    turn_id uuid primary key references agent.turns,
    answer text not null,
    abstained boolean not null default false
);

-- `place` is the n of a citation `[n]`; `source` is exactly what the person was shown.
create table agent.sources (
    turn_id uuid not null references agent.answers,
    place integer not null check (place >= 1),
    source jsonb not null,
    primary key (turn_id, place)
);

create table agent.sentences (
    turn_id uuid not null references agent.answers,
    place integer not null check (place >= 0),
    span_start integer not null,
    span_end integer not null check (span_end >= span_start),
    verdict text not null check (verdict in ('supported', 'unsupported')),
    support jsonb not null default '[]',
    primary key (turn_id, place)
);
