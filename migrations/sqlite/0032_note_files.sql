-- Files of notes.

-- Null when empty.
alter table conversation_notes add column files text;

-- The notes that use files. Builds that do not know this table find no use of such a file, so they show it to nobody.
create table note_file_uses (
    tenant_id text not null,
    conversation_id blob not null,
    note_seq integer not null,
    file_id blob not null,
    primary key (tenant_id, file_id, conversation_id, note_seq),
    -- Deleted with the note, also by a build that does not know this table.
    foreign key (tenant_id, conversation_id, note_seq)
        references conversation_notes (tenant_id, conversation_id, sort_seq) on delete cascade
) strict, without rowid;
create index note_file_uses_by_note on note_file_uses (tenant_id, conversation_id, note_seq);

create trigger note_file_use_added after insert on note_file_uses begin
    update files set uses = uses + 1, expires_at = null
    where tenant_id = new.tenant_id and id = new.file_id;
end;
create trigger note_file_use_removed after delete on note_file_uses begin
    update files set uses = uses - 1, expires_at = case uses when 1 then 0 end
    where tenant_id = old.tenant_id and id = old.file_id;
end;
