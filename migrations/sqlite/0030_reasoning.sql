-- The model's reasoning, with those who see it.

-- {"text", "shownTo"}; null without any, and if nobody sees it.
alter table turns add column reasoning text;
