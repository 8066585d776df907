-- What models are told about conversations and users.

-- Null if the model is told nothing.
alter table conversations add column context text;

-- What is stored about users. Users without a row can chat, too.
create table users (
    tenant_id text not null references tenants (id),
    user_id text not null,
    name text,
    context text not null,
    metadata text not null,
    created_at integer not null,
    updated_at integer not null,
    -- The position of the event of the creation: the sort key in listings.
    sort_seq integer not null,
    primary key (tenant_id, user_id)
) strict, without rowid;
create index users_by_creation on users (tenant_id, sort_seq);

-- Keys that may do everything may administer users, too.
update credentials set scopes = json_insert(scopes, '$[#]', 'users:admin')
where kind = 'key'
    and not exists (select 1 from json_each(scopes) where value = 'users:admin')
    and (select count(*) from json_each(scopes) where value in (
        'agents:read', 'agents:write', 'chat:write', 'tools:approve', 'conversations:read',
        'conversations:write', 'conversations:all', 'events:read', 'metrics:read', 'keys:admin',
        'user-tokens:issue'
    )) = 11;
