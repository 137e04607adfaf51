-- A batch over a bucket: its item 0 is the listing, and its other items are what has been found. The row has what is
-- wanted, where the listing goes on, and how much was found (BatchListing in batches.ts). Null: its items were sent.

alter table batches add column listing jsonb;
