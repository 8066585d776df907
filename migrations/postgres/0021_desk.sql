-- Hand-overs by agents, instructions of operators, and what staff notes for itself.

-- Null if the agent has not handed it over.
alter table conversations add column handover jsonb;

-- The operator's instruction in place of a message of the user.
alter table turns add column instruction text;

-- What members of staff note about conversations. Users and models do not see it.
create table conversation_notes (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    -- The position of the event of the creation: the sort key in listings.
    sort_seq bigint not null,
    id uuid not null,
    content text not null,
    author jsonb not null,
    created_at timestamptz not null,
    primary key (tenant_id, conversation_id, sort_seq)
);
