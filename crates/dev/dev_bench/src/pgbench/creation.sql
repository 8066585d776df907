-- One creation of an agent as a straightforward service would write it: the tenant's lock, the
-- agent, its capabilities and its version, an event, the head of the log. The same rows as the
-- service writes.
begin;
select head_seq + 1 as created, gen_random_uuid() as agent
    from tenants where id = 'default' for update \gset
insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, version,
        created_at, updated_at, sort_seq)
    values ('default', :agent, 'Ada of the parcel desk', 'ada of the parcel desk', '{personality}',
        '["orders", "returns", "opening hours"]', '{config}', 1, now(), now(), :created);
insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq)
    values ('default', 'orders', :agent, :created), ('default', 'returns', :agent, :created),
        ('default', 'opening hours', :agent, :created);
insert into agent_versions (tenant_id, agent_id, version, created_at, actor, agent)
    values ('default', :agent, 1, now(), 'key:0123456789ab', '{snapshot}');
insert into events (tenant_id, seq, type, time, agent_id, actor, data, bytes)
    values ('default', :created, 'agent.created', now(), :agent, 'key:0123456789ab', '{snapshot}',
        octet_length('{snapshot}'));
update tenants set head_seq = :created where id = 'default';
commit;
