-- Every version of an agent, and the requests to models.

create table agent_versions (
    tenant_id text not null,
    agent_id blob not null,
    version integer not null,
    created_at integer not null,
    -- The principal that made the change; null if the version was kept later.
    actor text,
    -- Name, personality, capabilities and configuration.
    agent text not null,
    primary key (tenant_id, agent_id, version),
    -- A process from before this table removes the versions with the agent, too.
    foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade
) strict;

insert into agent_versions (tenant_id, agent_id, version, created_at, agent)
select tenant_id, id, version, updated_at, json_object('name', name, 'personality', personality,
    'capabilities', json(capabilities), 'config', json(config))
from agents where deleted_at is null;

-- One row for each request to a model that its provider may bill. They outlive turns and users.
create table usage_entries (
    tenant_id text not null,
    turn_id blob not null,
    -- The number of the request in its turn, from 1.
    number integer not null,
    kind text not null,
    agent_id blob not null,
    agent_version integer,
    conversation_id blob,
    user_id text,
    principal text not null,
    engine text not null,
    -- Null if the engine does not tell.
    model text,
    -- Null if the response did not tell, or did not arrive.
    input_tokens integer,
    cached_input_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    -- The time of the write, which ended the turn.
    at integer not null,
    primary key (tenant_id, turn_id, number)
) strict, without rowid;

-- The sum of the turn's requests. Null for turns from before it: their reply has the token counts.
alter table turns add column usage text;
