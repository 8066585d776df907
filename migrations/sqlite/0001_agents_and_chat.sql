-- Agents, conversations, turns, messages, the event log, API keys.
-- Ids are 16 bytes, times are milliseconds since 1970 in UTC, JSON is text.
--
-- Every row carries its tenant, and every index begins with what its query filters by.
-- The rows of a chat (turns, messages, events) have no foreign keys: they are written only under
-- their tenant's lock, after the conversation was read there, and a check per row would cost as
-- much as the row.

create table tenants (
    id text primary key,
    created_at integer not null,
    -- The log: the newest event, and the oldest still there (head_seq + 1 when none is).
    -- Locking this row is the tenant's lock.
    head_seq integer not null default 0,
    first_seq integer not null default 1
) strict, without rowid;

insert into tenants (id, created_at) values ('default', cast(unixepoch('subsec') * 1000 as integer));

create table agents (
    tenant_id text not null references tenants (id),
    id blob not null,
    name text not null,
    -- The name as it is searched and sorted; compared by code point.
    name_key text not null,
    personality text not null,
    capabilities text not null,
    config text not null,
    version integer not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    primary key (tenant_id, id)
) strict;

create index agents_by_age on agents (tenant_id, id desc) where deleted_at is null;
create index agents_by_name on agents (tenant_id, name_key, id) where deleted_at is null;
create index agents_deleted on agents (deleted_at) where deleted_at is not null;

-- One row for each capability of each agent that is not deleted.
create table agent_capabilities (
    tenant_id text not null,
    capability text not null,
    agent_id blob not null,
    primary key (tenant_id, capability, agent_id),
    foreign key (tenant_id, agent_id) references agents (tenant_id, id)
) strict, without rowid;

create index agent_capabilities_by_agent on agent_capabilities (tenant_id, agent_id);

create table conversations (
    tenant_id text not null,
    id blob not null,
    agent_id blob not null,
    user_id text,
    title text,
    metadata text not null,
    version integer not null,
    message_count integer not null,
    -- Turns that have started.
    turn_count integer not null,
    created_at integer not null,
    updated_at integer not null,
    last_message_at integer,
    deleted_at integer,
    primary key (tenant_id, id)
) strict;

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
    tenant_id text not null,
    id blob not null,
    conversation_id blob not null,
    agent_id blob not null,
    agent_version integer,
    status text not null
        check (status in ('queued', 'in_progress', 'completed', 'failed', 'cancelled')),
    principal text not null,
    input text not null,
    -- The id of the user's message, which is written when the turn starts.
    message_id blob not null,
    -- The number of the turn in its conversation, from 0, and the place of the user's message
    -- there; set when it starts.
    turn_number integer,
    message_seq integer,
    -- The agent's message: its place in the conversation. It holds engine, finish reason, usage.
    reply_seq integer,
    degraded integer not null default 0,
    -- Null when empty.
    tool_calls text,
    metadata text,
    error text,
    -- The fencing token: the process that runs the turn.
    node_id blob,
    -- The place in the queue: the seq of its turn.queued event.
    queued_seq integer,
    -- The key that began it, to be released when it fails in a retryable way.
    claim_operation text,
    claim_key text,
    created_at integer not null,
    started_at integer,
    finished_at integer,
    primary key (tenant_id, id)
) strict;

create index turns_unanswered on turns (tenant_id, conversation_id) where status <> 'completed';
create index turns_open on turns (tenant_id, agent_id, conversation_id)
    where status in ('queued', 'in_progress');
create index turns_running_by_node on turns (node_id) where status = 'in_progress';

create table messages (
    tenant_id text not null,
    conversation_id blob not null,
    seq integer not null,
    id blob not null,
    turn_id blob,
    role text not null check (role in ('user', 'agent')),
    content text not null,
    created_at integer not null,
    engine text,
    agent_version integer,
    finish_reason text,
    input_tokens integer,
    output_tokens integer,
    primary key (tenant_id, conversation_id, seq)
) strict, without rowid;

create table events (
    tenant_id text not null,
    seq integer not null,
    type text not null,
    time integer not null,
    agent_id blob,
    conversation_id blob,
    user_id text,
    turn_id blob,
    actor text not null,
    -- Snapshots of agents and what is left of deleted things; all else is joined when read.
    data text,
    primary key (tenant_id, seq)
) strict, without rowid;

create table idempotency_records (
    tenant_id text not null,
    principal text not null,
    operation text not null,
    key text not null,
    fingerprint blob not null,
    turn_id blob,
    answer text,
    created_at integer not null,
    primary key (tenant_id, principal, operation, key)
) strict, without rowid;

create index idempotency_records_by_age on idempotency_records (created_at);

create table api_keys (
    id text primary key,
    tenant_id text not null references tenants (id),
    name text not null,
    scopes text not null,
    digest blob not null,
    last4 text not null,
    previous_digest blob,
    previous_until integer,
    created_at integer not null,
    expires_at integer,
    last_used_at integer,
    revoked_at integer,
    allowed_origins text not null,
    limits text not null
) strict;

create index api_keys_by_age on api_keys (tenant_id, created_at desc, id desc);

create table nodes (
    id blob primary key,
    lease_until integer not null,
    -- Marked as dead: its turns are being ended by others.
    swept integer not null default 0
) strict;

-- One row: what concerns the store as a whole.
create table store_state (
    only_row integer primary key default 1 check (only_row = 1),
    -- Grows with every revocation and rotation.
    access_version integer not null default 0,
    -- Whether the store has ever held a key.
    had_key integer not null default 0
) strict;

insert into store_state default values;
