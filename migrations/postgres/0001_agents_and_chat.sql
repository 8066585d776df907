-- Agents, conversations, turns, messages, the event log, API keys.
--
-- Every row carries its tenant, and every index begins with what its query filters by.
-- The rows of a chat (turns, messages, events) have no foreign keys: they are written only under
-- their tenant's lock, after the conversation was read there, and a check per row would cost as
-- much as the row.

create table tenants (
    id text collate "C" primary key,
    created_at timestamptz not null,
    -- The log: the newest event, and the oldest still there (head_seq + 1 when none is).
    -- Locking this row is the tenant's lock.
    head_seq bigint not null default 0,
    first_seq bigint not null default 1
);

insert into tenants (id, created_at) values ('default', date_trunc('milliseconds', now()));

create table agents (
    tenant_id text collate "C" not null references tenants (id),
    id uuid not null,
    name text not null,
    -- The name as it is searched and sorted; compared by code point.
    name_key text collate "C" not null,
    personality text not null,
    capabilities jsonb not null,
    config jsonb not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    primary key (tenant_id, id)
);

create index agents_by_age on agents (tenant_id, id desc) where deleted_at is null;
create index agents_by_name on agents (tenant_id, name_key, id) where deleted_at is null;
create index agents_deleted on agents (deleted_at) where deleted_at is not null;

-- One row for each capability of each agent that is not deleted.
create table agent_capabilities (
    tenant_id text collate "C" not null,
    capability text collate "C" not null,
    agent_id uuid not null,
    primary key (tenant_id, capability, agent_id),
    foreign key (tenant_id, agent_id) references agents (tenant_id, id)
);

create index agent_capabilities_by_agent on agent_capabilities (tenant_id, agent_id);

create table conversations (
    tenant_id text collate "C" not null,
    id uuid not null,
    agent_id uuid not null,
    user_id text collate "C",
    title text,
    metadata jsonb not null,
    version bigint not null,
    message_count bigint not null,
    -- Turns that have started.
    turn_count bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    last_message_at timestamptz,
    deleted_at timestamptz,
    primary key (tenant_id, id)
);

create index conversations_by_activity on conversations (tenant_id, updated_at desc, id desc)
    where deleted_at is null;
create index conversations_by_agent on conversations (tenant_id, agent_id, updated_at desc, id desc)
    where deleted_at is null;
create index conversations_by_user on conversations (tenant_id, user_id, updated_at desc, id desc)
    where deleted_at is null and user_id is not null;
create index conversations_by_user_and_agent
    on conversations (tenant_id, user_id, agent_id, updated_at desc, id desc)
    where deleted_at is null and user_id is not null;
create index conversations_deleted on conversations (deleted_at) where deleted_at is not null;

create table turns (
    tenant_id text collate "C" not null,
    id uuid not null,
    conversation_id uuid not null,
    agent_id uuid not null,
    agent_version bigint,
    status text not null
        check (status in ('queued', 'in_progress', 'completed', 'failed', 'cancelled')),
    principal text not null,
    input text not null,
    -- The id of the user's message, which is written when the turn starts.
    message_id uuid not null,
    -- The number of the turn in its conversation, from 0, and the place of the user's message
    -- there; set when it starts.
    turn_number bigint,
    message_seq bigint,
    -- The agent's message: its place in the conversation. It holds engine, finish reason, usage.
    reply_seq bigint,
    degraded boolean not null default false,
    -- Null when empty.
    tool_calls jsonb,
    metadata jsonb,
    error jsonb,
    -- The fencing token: the process that runs the turn.
    node_id uuid,
    -- The place in the queue: the seq of its turn.queued event.
    queued_seq bigint,
    -- The key that began it, to be released when it fails in a retryable way.
    claim_operation text,
    claim_key text,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    primary key (tenant_id, id)
);

create index turns_unanswered on turns (tenant_id, conversation_id) where status <> 'completed';
create index turns_open on turns (tenant_id, agent_id, conversation_id)
    where status in ('queued', 'in_progress');
create index turns_running_by_node on turns (node_id) where status = 'in_progress';

create table messages (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    seq bigint not null,
    id uuid not null,
    turn_id uuid,
    role text not null check (role in ('user', 'agent')),
    content text not null,
    created_at timestamptz not null,
    engine text,
    agent_version bigint,
    finish_reason text,
    input_tokens bigint,
    output_tokens bigint,
    primary key (tenant_id, conversation_id, seq)
);

create table events (
    tenant_id text collate "C" not null,
    seq bigint not null,
    type text not null,
    time timestamptz not null,
    agent_id uuid,
    conversation_id uuid,
    user_id text,
    turn_id uuid,
    actor text not null,
    -- Snapshots of agents and what is left of deleted things; all else is joined when read.
    data jsonb,
    primary key (tenant_id, seq)
);

create table idempotency_records (
    tenant_id text collate "C" not null,
    principal text collate "C" not null,
    operation text collate "C" not null,
    key text collate "C" not null,
    fingerprint bytea not null,
    turn_id uuid,
    answer jsonb,
    created_at timestamptz not null,
    primary key (tenant_id, principal, operation, key)
);

create index idempotency_records_by_age on idempotency_records (created_at);

create table api_keys (
    id text collate "C" primary key,
    tenant_id text collate "C" not null references tenants (id),
    name text not null,
    scopes text[] not null,
    digest bytea not null,
    last4 text not null,
    previous_digest bytea,
    previous_until timestamptz,
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    allowed_origins text[] not null,
    limits jsonb not null
);

create index api_keys_by_age on api_keys (tenant_id, created_at desc, id desc);

create table nodes (
    id uuid primary key,
    lease_until timestamptz not null,
    -- Marked as dead: its turns are being ended by others.
    swept boolean not null default false
);

-- One row: what concerns the store as a whole.
create table store_state (
    only_row boolean primary key default true check (only_row),
    -- Grows with every revocation and rotation.
    access_version bigint not null default 0,
    -- Whether the store has ever held a key.
    had_key boolean not null default false
);

insert into store_state default values;
