-- Generations of the tokens of users.

-- A row for each user whose tokens were withdrawn. Only tokens of the current generation are valid;
-- without a row, the generation is 0.
create table user_token_generations (
    tenant_id text not null references tenants (id),
    user_id text not null,
    generation integer not null,
    primary key (tenant_id, user_id)
) strict, without rowid;
