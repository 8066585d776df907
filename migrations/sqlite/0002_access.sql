-- Clients beside keys, tokens, and the keys that sign them.

-- API keys and OAuth clients.
create table credentials (
    id text primary key,
    kind text not null check (kind in ('key', 'client')),
    tenant_id text not null references tenants (id),
    name text not null,
    scopes text not null,
    -- Either a secret, or public keys: a JWK set, or where one is.
    digest blob,
    last4 text,
    previous_digest blob,
    previous_until integer,
    key_set text,
    key_set_url text,
    created_at integer not null,
    expires_at integer,
    last_used_at integer,
    revoked_at integer,
    allowed_origins text not null,
    limits text not null,
    check ((digest is not null) + (key_set is not null) + (key_set_url is not null) = 1),
    check ((digest is null) = (last4 is null))
) strict;

insert into credentials (id, kind, tenant_id, name, scopes, digest, last4, previous_digest,
    previous_until, created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits)
select id, 'key', tenant_id, name, scopes, digest, last4, previous_digest,
    previous_until, created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits
from api_keys;

drop table api_keys;

create index credentials_by_age on credentials (tenant_id, kind, created_at desc, id desc);

-- Tokens of ours that were taken back before their end.
create table revoked_tokens (
    id blob primary key,
    ends_at integer not null
) strict, without rowid;

create index revoked_tokens_by_end on revoked_tokens (ends_at);

-- Client assertions that were used: a digest of client and jti.
create table used_assertions (
    digest blob primary key,
    ends_at integer not null
) strict, without rowid;

create index used_assertions_by_end on used_assertions (ends_at);

-- The newest signs; those before it still count until they end.
create table signing_keys (
    kid text primary key,
    private_key blob not null,
    is_sealed integer not null,
    public_key text not null,
    created_at integer not null,
    valid_until integer
) strict;
