-- Imported conversations, exports, and conversations that are kept for a time.

-- The time of the import; null if the conversation began here.
alter table conversations add column imported_at integer;

-- Messages of users without a turn, such as imported ones, have the client's id themselves.
create index messages_of_client on messages (tenant_id, conversation_id, client_message_id)
    where client_message_id is not null and role = 'user';

-- The conversations of a user in an order that no activity changes, to export them.
create index conversations_of_user_by_id on conversations (tenant_id, user_id, id)
    where deleted_at is null and user_id is not null;

-- The conversations of an agent by the time since which they are idle, to delete those that are kept no longer.
create index conversations_by_idleness on conversations (tenant_id, agent_id,
    max(coalesce(last_message_at, created_at), coalesce(imported_at, 0))) where deleted_at is null;
create index agents_with_retention on agents (tenant_id, id)
    where deleted_at is null and config ->> 'retention' is not null;
