-- What nodes report about themselves.

alter table nodes add column version text;
alter table nodes add column started_at integer;
