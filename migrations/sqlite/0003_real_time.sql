-- Turns that wait, keys that failed turns gave back, tickets for sockets.

-- Since when a turn waits, by the store's clock: its time is measured by no process's.
alter table turns add column queued_at integer;
update turns set queued_at = cast(unixepoch('subsec') * 1000 as integer) where status = 'queued';
create index turns_waiting on turns (tenant_id, queued_at) where status = 'queued';

-- Where the turn took place that gave its key back: the next use of the key goes on there.
alter table idempotency_records add column released_into blob;

-- Good once, for half a minute, to open a socket; known by their digests alone.
create table tickets (
    digest blob primary key,
    -- Whom it lets in, and from where.
    content text not null,
    ends_at integer not null
) strict, without rowid;

create index tickets_by_end on tickets (ends_at);
