-- Hand-overs by agents, instructions of operators, and what staff notes for itself.

-- Null if the agent has not handed it over.
alter table conversations add column handover text;

-- The operator's instruction in place of a message of the user.
alter table turns add column instruction text;

-- What members of staff note about conversations. Users and models do not see it.
create table conversation_notes (
    tenant_id text not null,
    conversation_id blob not null,
    -- The position of the event of the creation: the sort key in listings.
    sort_seq integer not null,
    id blob not null,
    content text not null,
    author text not null,
    created_at integer not null,
    primary key (tenant_id, conversation_id, sort_seq)
) strict, without rowid;
