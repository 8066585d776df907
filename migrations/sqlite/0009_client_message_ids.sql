-- The turns of messages, by the clients' own ids of the messages.
create index turns_by_client_message on turns (conversation_id, client_message_id)
    where client_message_id is not null;
