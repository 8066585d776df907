-- The nodes of far regions, as they report themselves.

create table far_nodes (
    id blob primary key,
    region text not null,
    version text not null,
    started_at integer not null,
    -- The time at which the stream of the node to the home region was opened; null without one.
    connected_at integer,
    -- The time at which the node disappears unless it reports again.
    lease_until integer not null
) strict;
