-- One chat as a straightforward service would write it: the tenant's lock, the conversation, the
-- turn, two messages, two events, the head of the log. The same rows as the service writes, in the
-- schema of the service; ids of turns ascend, as the service's do.
\set conversation random(1, {conversations})
begin;
select head_seq, head_seq + 1 as started, head_seq + 2 as completed,
        lpad(to_hex(head_seq), 32, '0')::uuid as turn, gen_random_uuid() as message
    from tenants where id = 'default' for update \gset
update conversations set message_count = message_count + 2, turn_count = turn_count + 1,
        updated_at = now(), last_message_at = now()
    where tenant_id = 'default' and id = lpad(to_hex(:conversation::int), 32, '0')::uuid
    returning id as room, agent_id as agent, turn_count - 1 as turn_number,
        message_count - 1 as asked, message_count as replied \gset
insert into turns (tenant_id, id, conversation_id, agent_id, agent_version, status, principal,
        input, message_id, turn_number, message_seq, reply_seq, degraded, node_id, created_at,
        started_at, finished_at)
    values ('default', :turn, :room, :agent, 1, 'completed', 'key:0123456789ab', '{message}',
        :message, :turn_number, :asked, :replied, false, null, now(), now(), now());
insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, created_at)
    values ('default', :room, :asked, :message, :turn, 'user', '{message}', now());
insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, created_at,
        engine, agent_version, finish_reason)
    values ('default', :room, :replied, gen_random_uuid(), :turn, 'agent', '{reply}', now(),
        'rules', 1, 'stop');
insert into events (tenant_id, seq, type, time, agent_id, conversation_id, turn_id, actor)
    values ('default', :started, 'turn.started', now(), :agent, :room, :turn, 'key:0123456789ab');
insert into events (tenant_id, seq, type, time, agent_id, conversation_id, turn_id, actor)
    values ('default', :completed, 'turn.completed', now(), :agent, :room, :turn,
        'key:0123456789ab');
update tenants set head_seq = :completed where id = 'default';
commit;
