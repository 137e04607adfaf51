-- Secrets of webhooks are kept sealed: whoever has the key makes them, and the record none by itself.
alter table tokens alter column webhook_secret drop default;
-- What the record made is 32 bytes; what is sealed is longer.
update tokens set webhook_secret = null where length(webhook_secret) = 32;
drop function new_webhook_secret();
