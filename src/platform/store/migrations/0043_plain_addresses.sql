-- Whether the address that an item shows is its whole address, so that a later batch may have it from there. False: it
-- had a credential or a query, or it was written before this column was there.

alter table batch_items add column plain boolean not null default false;
