-- Agents as the events at these positions left them, and their size: pages are bounded by bytes.
create table agent_snapshots (
    tenant_id text collate "C" not null,
    seq bigint not null,
    agent jsonb not null,
    bytes integer not null generated always as (octet_length(agent::text)) stored,
    primary key (tenant_id, seq)
);

insert into agent_snapshots (tenant_id, seq, agent)
select tenant_id, seq, data from events where type in ('agent.created', 'agent.updated');
update events set data = null where type in ('agent.created', 'agent.updated');

-- The size of what an agent holds.
alter table agents add column bytes integer not null generated always as
    (octet_length(personality) + octet_length(capabilities::text) + octet_length(config::text)) stored;
