-- Files of messages. Their contents are in the blob store.

create table files (
    tenant_id text collate "C" not null references tenants (id),
    id uuid not null,
    -- The key of the content.
    blob uuid not null,
    name text not null,
    media_type text not null,
    bytes bigint not null,
    sha256 bytea not null,
    -- The principal that has uploaded it.
    principal text not null,
    created_at timestamptz not null,
    -- The time at which it is deleted; null while conversations use it.
    expires_at timestamptz,
    -- The number of conversations that use it.
    uses integer not null default 0,
    primary key (tenant_id, id)
);
create index files_by_expiry on files (expires_at) where expires_at is not null;
create unique index files_by_blob on files (blob);

-- The conversations that use files.
create table file_uses (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    file_id uuid not null,
    primary key (tenant_id, conversation_id, file_id),
    -- Purged with the conversation.
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
);
create index file_uses_by_file on file_uses (tenant_id, file_id);

-- Contents of deleted files, until the blob store has deleted them.
create table deleted_blobs (
    blob uuid primary key
);

-- The blob store that belongs to this database. One row at most.
create table blob_stores (
    id uuid primary key,
    is_only boolean not null default true unique check (is_only)
);

-- The files of the user's message. Null when empty.
alter table turns add column files jsonb;
alter table messages add column files jsonb;

-- Whatever removes the last use of a file, such as a build that knows no files, makes the file expire.
create function count_file_uses() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        update files set uses = uses + 1, expires_at = null
        where tenant_id = new.tenant_id and id = new.file_id;
    else
        update files set uses = uses - 1, expires_at = case uses when 1 then to_timestamp(0) end
        where tenant_id = old.tenant_id and id = old.file_id;
    end if;
    return null;
end
$$;
create trigger file_uses_counted after insert or delete on file_uses
    for each row execute function count_file_uses();

create function keep_deleted_blob() returns trigger language plpgsql as $$
begin
    insert into deleted_blobs (blob) values (old.blob) on conflict do nothing;
    return null;
end
$$;
create trigger files_deleted after delete on files
    for each row execute function keep_deleted_blob();
