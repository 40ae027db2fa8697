-- The decision on every payment. There is no unique index on payment: a terminal that repeats a payment after more than
-- a day would fail the job for ever, and nothing here writes a row twice.
CREATE TABLE payment_audit (
    payment       text   NOT NULL,
    card          text   NOT NULL,
    paid_ms       bigint NOT NULL,
    amount        bigint NOT NULL,
    country       text   NOT NULL,
    rules_version bigint NOT NULL,
    decision      text   NOT NULL
);
CREATE INDEX payment_audit_by_payment ON payment_audit (payment);
