-- The secret with which links to files are signed; null until a build that makes links has started.
alter table blob_stores add column link_secret blob;

-- What principals with a limit have uploaded on a day.
create table uploads (
    tenant_id text not null references tenants (id),
    principal text not null,
    -- The end of the day, at midnight in UTC.
    ends_at integer not null,
    files integer not null,
    bytes integer not null,
    primary key (tenant_id, principal, ends_at)
) strict, without rowid;
create index uploads_by_end on uploads (ends_at);
