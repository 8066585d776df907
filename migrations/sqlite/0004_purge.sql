-- Deleted agents whose conversations still have to be deleted.

alter table agents add column conversations_marked integer not null default 0;
create index agents_unmarked on agents (deleted_at)
    where deleted_at is not null and conversations_marked = 0;
