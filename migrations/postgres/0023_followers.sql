-- Followers of the logs, and the search in conversations, whose index one of them keeps.

-- The node that runs a follower, while its own lease is valid.
create table follower_leases (
    follower text collate "C" primary key,
    node_id uuid not null
);

create table follower_positions (
    follower text collate "C" not null,
    tenant_id text collate "C" not null,
    -- The last event whose effect has happened.
    position bigint not null,
    -- The last conversation that was read from before the follower's first event; null once all were read.
    backfilled_to uuid,
    primary key (follower, tenant_id)
);

-- The words of messages, and of titles, whose message_seq is 0.
create table search_entries (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    message_seq bigint not null,
    -- The place in the order of results: larger for newer texts.
    sort_key bigint not null,
    -- With lexemes for the tenant, the user and the agent, each "=" and a digest.
    words tsvector not null,
    primary key (tenant_id, conversation_id, message_seq)
);
create index search_entries_by_age on search_entries (tenant_id, sort_key desc, conversation_id desc);
-- Without fastupdate, no search has to read what was not merged into the index yet.
create index search_entries_by_words on search_entries using gin (words) with (fastupdate = off);
