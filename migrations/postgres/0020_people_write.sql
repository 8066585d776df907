-- Messages of staff, and conversations that people handle.

-- Who has written a message in place of the agent; null for all others.
alter table messages add column author jsonb;
-- The client's own id of a message of staff. Those of messages of users are stored with their turns.
alter table messages add column client_message_id text;

-- Whether staff handled the conversation when the turn started.
alter table turns add column is_for_staff boolean not null default false;

-- The number of messages of staff.
alter table conversations add column staff_messages bigint not null default 0;
-- Null for the agent.
alter table conversations add column handled_by text;
-- The member of staff who has taken the conversation over.
alter table conversations add column assignee text;
-- Since when the user waits for staff.
alter table conversations add column waiting_since timestamptz;
create index conversations_waiting on conversations (tenant_id, waiting_since, id)
    where waiting_since is not null and deleted_at is null;
create index conversations_of_staff on conversations (tenant_id, sort_seq, id)
    where handled_by = 'staff' and deleted_at is null;
