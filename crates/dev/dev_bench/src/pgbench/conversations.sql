-- What the chats of chat.sql need: an agent, and its conversations, by their numbers.
insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, version,
        created_at, updated_at)
    values ('default', lpad('1', 32, '0')::uuid, 'Ada', 'ada', '', '[]', '{}', 1, now(), now());
insert into conversations (tenant_id, id, agent_id, metadata, version, message_count, turn_count,
        created_at, updated_at)
    select 'default', lpad(to_hex(number), 32, '0')::uuid, lpad('1', 32, '0')::uuid, '{}', 1, 0, 0,
        now(), now()
    from generate_series(1, {conversations}) as number;
analyze;
