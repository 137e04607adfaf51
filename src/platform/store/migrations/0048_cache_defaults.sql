-- The age of a cached result that may answer requests which say nothing of it. 0: none; null: as the account above.
alter table users add column cache_max_age_s integer check (cache_max_age_s between 0 and 2592000);
alter table tokens add column cache_max_age_s integer check (cache_max_age_s between 0 and 2592000);
