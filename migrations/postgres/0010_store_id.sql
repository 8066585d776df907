-- The id of the store.

-- Part of the name of the channel on which the nodes of this store exchange signals. Random, since
-- other users of the database could otherwise listen.
alter table store_state add column store_id uuid not null default gen_random_uuid();
