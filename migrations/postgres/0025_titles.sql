-- Titles by models.

-- `person` or `model`. Null if nobody has written or removed a title; also for titles from before this column,
-- which are by persons.
alter table conversations add column title_source text;

-- The kind becomes part of the key: the requests for a title have numbers of their own.
alter table usage_entries
    drop constraint usage_entries_pkey,
    add primary key (tenant_id, turn_id, kind, number);
