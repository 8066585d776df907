-- Files of notes.

-- Null when empty.
alter table conversation_notes add column files jsonb;

-- The notes that use files. Builds that do not know this table find no use of such a file, so they show it to nobody.
create table note_file_uses (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    note_seq bigint not null,
    file_id uuid not null,
    primary key (tenant_id, file_id, conversation_id, note_seq),
    -- Deleted with the note, also by a build that does not know this table.
    foreign key (tenant_id, conversation_id, note_seq)
        references conversation_notes (tenant_id, conversation_id, sort_seq) on delete cascade
);
create index note_file_uses_by_note on note_file_uses (tenant_id, conversation_id, note_seq);

create trigger note_file_uses_counted after insert or delete on note_file_uses
    for each row execute function count_file_uses();
