-- The hand-over of a conversation to staff by its agent, and what staff notes for itself.

alter table conversations add column handover text;

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
