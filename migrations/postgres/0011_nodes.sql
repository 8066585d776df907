-- What nodes report about themselves, and what they count together.

-- Null for nodes of an earlier version, which run beside newer ones.
alter table nodes add column version text, add column started_at timestamptz;

-- The usage of quotas by recently active principals. Not logged: after a crash of the database it
-- starts at zero.
create unlogged table quota_counters (
    -- A digest of tenant, principal, policy and quota.
    key bytea primary key,
    -- The time at which the whole burst is available, in nanoseconds since 1970.
    full_at bigint not null,
    -- The units that nodes took ahead of need, in the nanoseconds in which they are refilled. They
    -- are missing until a node uses or returns them, or until this time, if it does neither.
    held bigint not null,
    held_until bigint not null
) with (fillfactor = 50);

-- The open streams of principals at each node. Nodes report them again after a crash.
create unlogged table stream_counters (
    -- A digest of tenant and principal.
    holder bytea primary key,
    -- The number of open streams by the id of the node.
    counts jsonb not null
) with (fillfactor = 50);
