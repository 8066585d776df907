-- Titles by models.

-- `person` or `model`. Null if nobody has written or removed a title; also for titles from before this column,
-- which are by persons.
alter table conversations add column title_source text;

-- The kind becomes part of the key: the requests for a title have numbers of their own.
create table usage_entries_by_kind (
    tenant_id text not null,
    -- The turn, or the turn after which the request was made.
    turn_id blob not null,
    -- `chat` or `title`.
    kind text not null,
    -- The number of the request in its turn among those of its kind, from 1.
    number integer not null,
    agent_id blob not null,
    agent_version integer,
    conversation_id blob,
    user_id text,
    principal text not null,
    engine text not null,
    -- Null if the engine does not tell.
    model text,
    -- Null if the response did not tell, or did not arrive.
    input_tokens integer,
    cached_input_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    -- The time of the write.
    at integer not null,
    primary key (tenant_id, turn_id, kind, number)
) strict, without rowid;

insert into usage_entries_by_kind (tenant_id, turn_id, kind, number, agent_id, agent_version, conversation_id,
    user_id, principal, engine, model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, at)
select tenant_id, turn_id, kind, number, agent_id, agent_version, conversation_id,
    user_id, principal, engine, model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, at
from usage_entries;

drop table usage_entries;

alter table usage_entries_by_kind rename to usage_entries;
