-- What models are told about conversations and users.

-- Null if the model is told nothing.
alter table conversations add column context text;

-- What is stored about users. Users without a row can chat, too.
create table users (
    tenant_id text collate "C" not null references tenants (id),
    user_id text collate "C" not null,
    name text,
    context text not null,
    metadata jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- The position of the event of the creation: the sort key in listings.
    sort_seq bigint not null,
    primary key (tenant_id, user_id)
);
create index users_by_creation on users (tenant_id, sort_seq);

-- Keys that may do everything may administer users, too.
update credentials set scopes = array_append(scopes, 'users:admin')
where kind = 'key' and not scopes @> array['users:admin'] and scopes @> array[
    'agents:read', 'agents:write', 'chat:write', 'tools:approve', 'conversations:read',
    'conversations:write', 'conversations:all', 'events:read', 'metrics:read', 'keys:admin',
    'user-tokens:issue'
];
