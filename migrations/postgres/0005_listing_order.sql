-- Listings in an order that the store assigns: no process's clock takes part in it.
--
-- sort_seq is the position of an event in the tenant's log: of an agent's creation, of a
-- conversation's latest activity. Credentials have no events; theirs is a number of its own.
-- Existing rows are numbered in the order in which they were listed so far. There are no more of
-- them than events, so whatever follows comes after them.

alter table agents add column sort_seq bigint;
update agents a set sort_seq = n.place
from (select tenant_id, id, row_number() over (partition by tenant_id order by id) as place
    from agents) n
where a.tenant_id = n.tenant_id and a.id = n.id;

alter table agent_capabilities add column sort_seq bigint;
update agent_capabilities c set sort_seq = a.sort_seq
from agents a where a.tenant_id = c.tenant_id and a.id = c.agent_id;

alter table conversations add column sort_seq bigint;
update conversations c set sort_seq = n.place
from (select tenant_id, id,
        row_number() over (partition by tenant_id order by updated_at, id) as place
    from conversations) n
where c.tenant_id = n.tenant_id and c.id = n.id;

alter table credentials add column sort_seq bigint;
update credentials c set sort_seq = n.place
from (select id, row_number() over (partition by tenant_id, kind order by created_at, id) as place
    from credentials) n
where c.id = n.id;

-- Nodes of an earlier version insert rows without it. For other nodes these triggers never run.
create function sort_seq_by_log() returns trigger language plpgsql as $$
begin
    new.sort_seq := (select head_seq + 1 from tenants where id = new.tenant_id);
    return new;
end $$;
create trigger agents_sort_seq before insert on agents
    for each row when (new.sort_seq is null) execute function sort_seq_by_log();
create trigger conversations_sort_seq before insert on conversations
    for each row when (new.sort_seq is null) execute function sort_seq_by_log();
create trigger conversations_sort_seq_moved before update of updated_at on conversations
    for each row when (new.sort_seq = old.sort_seq and new.updated_at <> old.updated_at)
    execute function sort_seq_by_log();

create function sort_seq_by_agent() returns trigger language plpgsql as $$
begin
    new.sort_seq := (select sort_seq from agents
        where tenant_id = new.tenant_id and id = new.agent_id);
    return new;
end $$;
create trigger agent_capabilities_sort_seq before insert on agent_capabilities
    for each row when (new.sort_seq is null) execute function sort_seq_by_agent();

create function sort_seq_by_count() returns trigger language plpgsql as $$
begin
    new.sort_seq := (select coalesce(max(sort_seq), 0) + 1 from credentials
        where tenant_id = new.tenant_id and kind = new.kind);
    return new;
end $$;
create trigger credentials_sort_seq before insert on credentials
    for each row when (new.sort_seq is null) execute function sort_seq_by_count();

alter table agents alter column sort_seq set not null;
alter table agent_capabilities alter column sort_seq set not null;
alter table conversations alter column sort_seq set not null;
alter table credentials alter column sort_seq set not null;

-- They replace the indexes by time: an index more would make every chat dearer.
drop index agents_by_age;
create index agents_by_creation on agents (tenant_id, sort_seq desc, id desc)
    where deleted_at is null;
create index agent_capabilities_by_creation
    on agent_capabilities (tenant_id, capability, sort_seq desc, agent_id desc);
drop index conversations_by_activity;
create index conversations_by_activity on conversations (tenant_id, sort_seq desc, id desc)
    where deleted_at is null;
drop index conversations_by_agent;
create index conversations_by_agent on conversations (tenant_id, agent_id, sort_seq desc, id desc)
    where deleted_at is null;
drop index conversations_by_user;
create index conversations_by_user on conversations (tenant_id, user_id, sort_seq desc, id desc)
    where deleted_at is null and user_id is not null;
drop index conversations_by_user_and_agent;
create index conversations_by_user_and_agent
    on conversations (tenant_id, user_id, agent_id, sort_seq desc, id desc)
    where deleted_at is null and user_id is not null;
drop index credentials_by_age;
create index credentials_by_creation on credentials (tenant_id, kind, sort_seq desc);
