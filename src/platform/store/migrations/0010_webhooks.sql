-- Webhooks: whoever delivers one holds a lease on its row, so that a replica that dies loses nothing and two rarely send the same.

-- 244 random bits from the server's own strong source, so that every token has a secret, whoever makes it.
create function new_webhook_secret() returns bytea language sql volatile as $$
  select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
$$;
alter table tokens alter column webhook_secret set default new_webhook_secret();
update tokens set webhook_secret = new_webhook_secret() where webhook_secret is null;

alter table webhook_outbox
  -- How many of the schedule's retries are used up.
  add column step integer not null default 0,
  add column lease_until timestamptz,
  add column leased_by uuid,
  -- When it was delivered, or given up.
  add column ended_at timestamptz;
create index webhook_outbox_created on webhook_outbox (created_at);

create function notify_webhook() returns trigger language plpgsql as $$
begin
  perform pg_notify('py_webhooks', '');
  return null;
end $$;
create trigger webhook_outbox_notify after insert on webhook_outbox for each row execute function notify_webhook();
create trigger webhook_outbox_again after update of next_at on webhook_outbox for each row
  when (new.state = 'pending' and new.next_at <= now()) execute function notify_webhook();
