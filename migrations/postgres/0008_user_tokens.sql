-- Generations of the tokens of users.

-- A row for each user whose tokens were withdrawn. Only tokens of the current generation are valid;
-- without a row, the generation is 0.
create table user_token_generations (
    tenant_id text collate "C" not null references tenants (id),
    user_id text collate "C" not null,
    generation bigint not null,
    primary key (tenant_id, user_id)
);
