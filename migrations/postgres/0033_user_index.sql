-- One index of a user's conversations in place of three. Each chat of a user writes a page of each of them, and the
-- conversations of one user are few: those of an agent are filtered, and those of an export are sorted.

drop index conversations_of_user_by_id;
drop index conversations_by_user_and_agent;
drop index conversations_by_user;
create index conversations_by_user on conversations (tenant_id, user_id, sort_seq desc, id desc)
    where deleted_at is null and user_id is not null;
