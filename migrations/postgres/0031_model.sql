-- The model of a reply.

-- On replies: as the provider names it, or else as it was asked for; null without one, and for several.
alter table messages add column model text;
