-- Turns that wait for an answer to a tool call. They stay in progress, without a node.

-- The time from which the turn can no longer be answered; null unless it waits.
alter table turns add column action_expires_at integer;

-- The tools that the client has added to the turn; null if there are none.
alter table turns add column client_tools text;

create index turns_by_action_expiry on turns (action_expires_at) where action_expires_at is not null;

drop index turns_unowned;
create index turns_unowned on turns (tenant_id)
    where status = 'in_progress' and node_id is null and action_expires_at is null;

-- The turns that repeat others.
create index turns_by_retry on turns (conversation_id, message_seq) where retry_of is not null;
