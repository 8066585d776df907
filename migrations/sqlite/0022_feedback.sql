-- Ratings of messages.

create table feedback (
    tenant_id text not null,
    conversation_id blob not null,
    message_seq integer not null,
    -- The principal that has rated; empty for the user of the conversation, whoever that is when it is read.
    principal text not null,
    rating text not null,
    comment text,
    updated_at integer not null,
    -- The position of the event of the last change: the sort key in listings.
    sort_seq integer not null,
    primary key (tenant_id, conversation_id, message_seq, principal),
    -- Purged with the message.
    foreign key (tenant_id, conversation_id, message_seq)
        references messages (tenant_id, conversation_id, seq) on delete cascade
) strict, without rowid;
create index feedback_by_change on feedback (tenant_id, sort_seq);

-- True once a message was rated. Ratings are read in these conversations only.
alter table conversations add column has_feedback integer not null default 0;
