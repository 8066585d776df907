-- Followers of the logs. The search in conversations has a file of its own, with its own positions.

-- The node that runs a follower, while its own lease is valid.
create table follower_leases (
    follower text primary key,
    node_id blob not null
) strict, without rowid;

create table follower_positions (
    follower text not null,
    tenant_id text not null,
    -- The last event whose effect has happened.
    position integer not null,
    -- The last conversation that was read from before the follower's first event; null once all were read.
    backfilled_to blob,
    primary key (follower, tenant_id)
) strict, without rowid;
