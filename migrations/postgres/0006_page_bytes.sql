-- Sizes in bytes: pages are bounded by them.

-- The size of data. Null in rows of earlier versions, whose size is then calculated.
alter table events add column bytes integer;

-- The size of what an agent holds.
alter table agents add column bytes integer not null generated always as
    (octet_length(personality) + octet_length(capabilities::text) + octet_length(config::text)) stored;
