-- Replies by a schema.

-- The schema that came with the message of a turn; null without one.
alter table turns add column response_schema jsonb;

-- On replies whose content satisfies the schema of their turn: true if the model has had to correct it.
alter table messages add column repaired boolean;
