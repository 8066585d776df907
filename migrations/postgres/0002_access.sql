-- Clients beside keys, tokens, and the keys that sign them.

-- API keys and OAuth clients.
alter table api_keys rename to credentials;
alter index api_keys_pkey rename to credentials_pkey;
alter table credentials
    rename constraint api_keys_tenant_id_fkey to credentials_tenant_id_fkey;
alter table credentials
    add column kind text collate "C" not null default 'key' check (kind in ('key', 'client')),
    -- Either a secret, or public keys: a JWK set, or where one is.
    add column key_set jsonb,
    add column key_set_url text,
    alter column digest drop not null,
    alter column last4 drop not null,
    add check (num_nonnulls(digest, key_set, key_set_url) = 1),
    add check ((digest is null) = (last4 is null));
alter table credentials alter column kind drop default;

drop index api_keys_by_age;
create index credentials_by_age on credentials (tenant_id, kind, created_at desc, id desc);

-- Tokens of ours that were taken back before their end.
create table revoked_tokens (
    id uuid primary key,
    ends_at timestamptz not null
);

create index revoked_tokens_by_end on revoked_tokens (ends_at);

-- Client assertions that were used: a digest of client and jti.
create table used_assertions (
    digest bytea primary key,
    ends_at timestamptz not null
);

create index used_assertions_by_end on used_assertions (ends_at);

-- The newest signs; those before it still count until they end.
create table signing_keys (
    kid text collate "C" primary key,
    private_key bytea not null,
    is_sealed boolean not null,
    public_key jsonb not null,
    created_at timestamptz not null,
    valid_until timestamptz
);
