-- A verification brings the password and the names that were given with it: whoever signed up before with the same address gains nothing.
alter table account_codes add column password_hash text;
alter table account_codes add column first_name text;
alter table account_codes add column last_name text;
