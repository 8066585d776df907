-- Turns that wait for an answer to a tool call. They stay in progress, without a node.

-- The time from which the first of its waiting calls can no longer be answered; null if none waits. A turn
-- in progress waits itself; one that has ended has calls that wait for staff.
alter table turns add column action_expires_at timestamptz;

-- The call of an earlier turn whose outcome the turn reports; null for all turns with a user's message.
alter table turns add column continues jsonb;

-- The tools that the client has added to the turn; null if there are none.
alter table turns add column client_tools jsonb;

create index turns_by_action_expiry on turns (action_expires_at) where action_expires_at is not null;
-- The condition differs from that above, so that no sweep uses this index.
create index turns_with_waiting_calls on turns (tenant_id, sort_seq)
    where num_nonnulls(action_expires_at) = 1;

drop index turns_unowned;
create index turns_unowned on turns (tenant_id)
    where status = 'in_progress' and node_id is null and action_expires_at is null;

-- The turns that repeat others.
create index turns_by_retry on turns (conversation_id, message_seq) where retry_of is not null;

-- Keys that may do everything may decide for staff, too.
update credentials set scopes = array_append(scopes, 'tools:approve')
where kind = 'key' and not scopes @> array['tools:approve'] and scopes @> array[
    'agents:read', 'agents:write', 'chat:write', 'conversations:read', 'conversations:write',
    'conversations:all', 'events:read', 'metrics:read', 'keys:admin', 'user-tokens:issue'
];
