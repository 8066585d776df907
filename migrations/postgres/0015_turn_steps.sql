-- The journal of turns: what a turn did, in order, so that it survives its process.

create table turn_steps (
    tenant_id text not null,
    turn_id uuid not null,
    -- From 0, without gaps.
    number integer not null,
    -- False for a tool call that has begun and has no recorded end.
    has_ended boolean not null,
    -- The step, as JSON; as text, because no statement looks into it.
    body text not null,
    primary key (tenant_id, turn_id, number),
    -- Purged with the turn.
    foreign key (tenant_id, turn_id) references turns (tenant_id, id) on delete cascade
);

-- Turns in progress without a node: the next sweep gives them to one.
create index turns_unowned on turns (tenant_id) where status = 'in_progress' and node_id is null;

-- Whether the journal has calls that may have acted. Null without calls.
alter table turns add column has_acted boolean;
create index turns_with_calls on turns (conversation_id, message_seq) where has_acted is not null;
