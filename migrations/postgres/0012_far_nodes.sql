-- The nodes of far regions, as they report themselves. Not logged: they report again every few seconds.
create unlogged table far_nodes (
    id uuid primary key,
    region text not null,
    version text not null,
    started_at timestamptz not null,
    -- The time at which the stream of the node to the home region was opened; null without one.
    connected_at timestamptz,
    -- The time at which the node disappears unless it reports again.
    lease_until timestamptz not null
) with (fillfactor = 50);
