-- Every version of an agent, and the requests to models.

create table agent_versions (
    tenant_id text collate "C" not null,
    agent_id uuid not null,
    version bigint not null,
    created_at timestamptz not null,
    -- The principal that made the change; null if the version was kept later.
    actor text,
    -- Name, personality, capabilities and configuration.
    agent jsonb not null,
    primary key (tenant_id, agent_id, version),
    -- A node from before this table removes the versions with the agent, too.
    foreign key (tenant_id, agent_id) references agents (tenant_id, id) on delete cascade
);

insert into agent_versions (tenant_id, agent_id, version, created_at, agent)
select tenant_id, id, version, updated_at, jsonb_build_object('name', name,
    'personality', personality, 'capabilities', capabilities, 'config', config)
from agents where deleted_at is null;

-- One row for each request to a model that its provider may bill. They outlive turns and users.
create table usage_entries (
    tenant_id text collate "C" not null,
    turn_id uuid not null,
    -- The number of the request in its turn, from 1.
    number bigint not null,
    kind text not null,
    agent_id uuid not null,
    agent_version bigint,
    conversation_id uuid,
    user_id text collate "C",
    principal text collate "C" not null,
    engine text not null,
    -- Null if the engine does not tell.
    model text,
    -- Null if the response did not tell, or did not arrive.
    input_tokens bigint,
    cached_input_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    -- The time of the write, which ended the turn.
    at timestamptz not null,
    primary key (tenant_id, turn_id, number)
);

-- The sum of the turn's requests. Null for turns from before it: their reply has the token counts.
alter table turns add column usage jsonb;
