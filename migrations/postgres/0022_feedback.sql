-- Ratings of messages.

create table feedback (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    message_seq bigint not null,
    -- The principal that has rated; empty for the user of the conversation, whoever that is when it is read.
    principal text collate "C" not null,
    rating text not null,
    comment text,
    updated_at timestamptz not null,
    -- The position of the event of the last change: the sort key in listings.
    sort_seq bigint not null,
    primary key (tenant_id, conversation_id, message_seq, principal),
    -- Purged with the message.
    foreign key (tenant_id, conversation_id, message_seq)
        references messages (tenant_id, conversation_id, seq) on delete cascade
);
create index feedback_by_change on feedback (tenant_id, sort_seq);

-- True once a message was rated. Ratings are read in these conversations only.
alter table conversations add column has_feedback boolean not null default false;
