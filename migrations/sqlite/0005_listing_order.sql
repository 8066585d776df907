-- Listings in an order that the store assigns: no process's clock takes part in it.
--
-- sort_seq is the position of an event in the tenant's log: of an agent's creation, of a
-- conversation's latest activity. Credentials have no events; theirs is a number of its own.
-- Existing rows are numbered in the order in which they were listed so far. There are no more of
-- them than events, so whatever follows comes after them.

alter table agents add column sort_seq integer not null default 0;
update agents set sort_seq = n.place
from (select tenant_id, id, row_number() over (partition by tenant_id order by id) as place
    from agents) n
where agents.tenant_id = n.tenant_id and agents.id = n.id;

alter table agent_capabilities add column sort_seq integer not null default 0;
update agent_capabilities set sort_seq = a.sort_seq
from agents a
where a.tenant_id = agent_capabilities.tenant_id and a.id = agent_capabilities.agent_id;

alter table conversations add column sort_seq integer not null default 0;
update conversations set sort_seq = n.place
from (select tenant_id, id,
        row_number() over (partition by tenant_id order by updated_at, id) as place
    from conversations) n
where conversations.tenant_id = n.tenant_id and conversations.id = n.id;

alter table credentials add column sort_seq integer not null default 0;
update credentials set sort_seq = n.place
from (select id, row_number() over (partition by tenant_id, kind order by created_at, id) as place
    from credentials) n
where credentials.id = n.id;

-- They replace the indexes by time: an index more would make every chat dearer.
drop index agents_by_age;
create index agents_by_creation on agents (tenant_id, sort_seq desc, id desc)
    where deleted_at is null;
create index agent_capabilities_by_creation
    on agent_capabilities (tenant_id, capability, sort_seq desc, agent_id desc);
-- With all columns, or SQLite would look up the capabilities of one agent by the tenant alone.
drop index agent_capabilities_by_agent;
create index agent_capabilities_by_agent on agent_capabilities (tenant_id, agent_id, sort_seq);
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
