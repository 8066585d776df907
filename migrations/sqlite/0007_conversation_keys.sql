-- Conversations with names of clients, superseded messages, forks, and turns in their order.

-- The client's own name, unique for agent and user.
alter table conversations add column key text;
-- message_count numbers the messages, so it also counts superseded ones.
alter table conversations add column superseded_count integer not null default 0;
-- The beginning of the newest message.
alter table conversations add column excerpt text;
-- Where its first messages were copied from.
alter table conversations add column forked_from text;
create unique index conversations_by_name
    on conversations (tenant_id, agent_id, coalesce(user_id, ''), key)
    where key is not null and deleted_at is null;
update conversations set excerpt = (
    select substr(m.content, 1, 120) from messages m
    where m.tenant_id = conversations.tenant_id and m.conversation_id = conversations.id
        and m.seq = conversations.message_count)
where deleted_at is null;

alter table messages add column superseded_at integer;

alter table turns add column client_message_id text;
-- The failed turn that it repeats.
alter table turns add column retry_of blob;
-- Whether an earlier turn has stored the user's message.
alter table turns add column reuses_message integer not null default 0;
-- The id of the agent's message, from the start of the turn.
alter table turns add column reply_id blob;
-- The position of its first event in the tenant's log. Existing turns are numbered by their times;
-- there are no more of them than events.
alter table turns add column sort_seq integer not null default 0;
update turns set sort_seq = n.place
from (select tenant_id, id, row_number() over (partition by tenant_id order by created_at, id) as place
    from turns) n
where turns.tenant_id = n.tenant_id and turns.id = n.id;
-- No statement has used the index that it replaces.
drop index turns_unanswered;
create index turns_by_conversation on turns (conversation_id, sort_seq);

-- The failed turn that has released the key.
alter table idempotency_records add column released_by blob;
