-- Erasures of the data of users.

-- Erasures that have begun and not ended.
create table erasures (
    tenant_id text collate "C" not null references tenants (id),
    id uuid not null,
    user_id text collate "C" not null,
    -- The numbers of conversations and messages that are erased; null until they are counted.
    conversations bigint,
    messages bigint,
    primary key (tenant_id, id)
);

-- Set once the user is erased, whose id is then replaced by a digest: the time until which tokens of a generation
-- before may exist.
alter table user_token_generations add column ends_at timestamptz;
create index user_token_generations_by_end on user_token_generations (ends_at)
    where ends_at is not null;
