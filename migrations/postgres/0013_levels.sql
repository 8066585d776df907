-- What nodes of several versions, which run beside each other, tell each other.

-- The level of a node's program. Null for one from before levels: 0.
alter table nodes add column level integer;
alter table far_nodes add column level integer;

-- The lowest level of the nodes that may end or start the turn by themselves. Null for all nodes.
alter table turns add column level integer;
