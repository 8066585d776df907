-- Files of messages. Their contents are in the blob store.

create table files (
    tenant_id text not null references tenants (id),
    id blob not null,
    -- The key of the content.
    blob blob not null,
    name text not null,
    media_type text not null,
    bytes integer not null,
    sha256 blob not null,
    -- The principal that has uploaded it.
    principal text not null,
    created_at integer not null,
    -- The time at which it is deleted; null while conversations use it.
    expires_at integer,
    -- The number of conversations that use it.
    uses integer not null default 0,
    primary key (tenant_id, id)
) strict, without rowid;
create index files_by_expiry on files (expires_at) where expires_at is not null;
create unique index files_by_blob on files (blob);

-- The conversations that use files.
create table file_uses (
    tenant_id text not null,
    conversation_id blob not null,
    file_id blob not null,
    primary key (tenant_id, conversation_id, file_id),
    -- Purged with the conversation.
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
) strict, without rowid;
create index file_uses_by_file on file_uses (tenant_id, file_id);

-- Contents of deleted files, until the blob store has deleted them.
create table deleted_blobs (
    blob blob primary key
) strict, without rowid;

-- The blob store that belongs to this database. One row at most.
create table blob_stores (
    id blob primary key,
    is_only integer not null default 1 unique check (is_only = 1)
) strict, without rowid;

-- The files of the user's message. Null when empty.
alter table turns add column files text;
alter table messages add column files text;

-- Whatever removes the last use of a file makes the file expire.
create trigger file_use_added after insert on file_uses begin
    update files set uses = uses + 1, expires_at = null
    where tenant_id = new.tenant_id and id = new.file_id;
end;
create trigger file_use_removed after delete on file_uses begin
    update files set uses = uses - 1, expires_at = case uses when 1 then 0 end
    where tenant_id = old.tenant_id and id = old.file_id;
end;

create trigger file_deleted after delete on files begin
    insert or ignore into deleted_blobs (blob) values (old.blob);
end;
