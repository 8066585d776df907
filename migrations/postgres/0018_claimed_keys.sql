-- The node that runs the turn of a key of which nothing else is stored; null for all others, and once it has an
-- answer.
alter table idempotency_records add column claimed_by uuid;

create index idempotency_records_by_claim on idempotency_records (claimed_by) where claimed_by is not null;
