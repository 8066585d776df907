-- The hand-over of a conversation to staff by its agent, and what staff notes for itself.

alter table conversations add column handover jsonb;

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
