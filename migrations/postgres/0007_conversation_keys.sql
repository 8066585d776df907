-- Conversations with names of clients, superseded messages, forks, and turns in their order.

alter table conversations
    -- The client's own name, unique for agent and user.
    add column key text collate "C",
    -- message_count numbers the messages, so it also counts superseded ones.
    add column superseded_count bigint not null default 0,
    -- The beginning of the newest message.
    add column excerpt text,
    -- Where its first messages were copied from.
    add column forked_from jsonb;
create unique index conversations_by_name
    on conversations (tenant_id, agent_id, coalesce(user_id, ''), key)
    where key is not null and deleted_at is null;
update conversations c set excerpt = (
    select left(m.content, 120) from messages m
    where m.tenant_id = c.tenant_id and m.conversation_id = c.id and m.seq = c.message_count)
where c.deleted_at is null;

alter table messages add column superseded_at timestamptz;

alter table turns
    add column client_message_id text,
    -- The failed turn that it repeats.
    add column retry_of uuid,
    -- Whether an earlier turn has stored the user's message.
    add column reuses_message boolean not null default false,
    -- The id of the agent's message, from the start of the turn.
    add column reply_id uuid,
    -- The position of its first event in the tenant's log.
    add column sort_seq bigint;
-- Existing turns are numbered by their times. There are no more of them than events.
update turns t set sort_seq = n.place
from (select tenant_id, id, row_number() over (partition by tenant_id order by created_at, id) as place
    from turns) n
where t.tenant_id = n.tenant_id and t.id = n.id;
-- For nodes of an earlier version, as in migration 5.
create trigger turns_sort_seq before insert on turns
    for each row when (new.sort_seq is null) execute function sort_seq_by_log();
alter table turns alter column sort_seq set not null;
-- No statement has used the index that it replaces.
drop index turns_unanswered;
create index turns_by_conversation on turns (conversation_id, sort_seq);

-- The failed turn that has released the key.
alter table idempotency_records add column released_by uuid;
