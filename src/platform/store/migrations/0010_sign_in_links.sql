-- A sign-in link is a code, too: its id is a part of the hash of what the link carries.
alter table account_codes drop constraint account_codes_purpose_check;
alter table account_codes add constraint account_codes_purpose_check check (purpose in ('verify', 'reset', 'sign-in'));
