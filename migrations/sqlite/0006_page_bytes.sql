-- Agents as the events at these positions left them. They stand apart from the log, whose rows are
-- read by the thousand: SQLite reads the whole row to compare its key.
create table agent_snapshots (
    tenant_id text not null,
    seq integer not null,
    agent text not null,
    primary key (tenant_id, seq)
) strict;

insert into agent_snapshots (tenant_id, seq, agent)
select tenant_id, seq, data from events where type in ('agent.created', 'agent.updated');
update events set data = null where type in ('agent.created', 'agent.updated');
