-- Deleted agents whose conversations still have to be deleted.

alter table agents add column conversations_marked boolean not null default false;
create index agents_unmarked on agents (deleted_at)
    where deleted_at is not null and not conversations_marked;
