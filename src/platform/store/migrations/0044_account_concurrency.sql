-- Requests at once of an account, over all its users and tokens. It is the root user's, of a sub-user it is not read.
-- Null: the installation's default. 0: none.
alter table users add column account_concurrency integer check (account_concurrency >= 0);
