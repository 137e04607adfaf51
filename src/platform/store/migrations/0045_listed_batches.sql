-- A batch over a bucket: its item 0 is the listing, and its other items are what has been found. The row has what is
-- wanted, where the listing goes on, and how much was found (BatchListing in batches.ts). Null: its items were sent.

alter table batches add column listing jsonb;

-- Failed items by code. To count 100,000 of them took 0.4 s, each time that somebody looked at the batch.
alter table batches add column codes jsonb not null default '{}';

-- Of a batch that tags its objects: ended items by what became of the tags.
alter table batches add column tags jsonb not null default '{}';

-- As in 0040_batches.sql, codes, tags, and webhooks of items: `progress` is -1 - n, so that an item has one.
create or replace function settle_items(p_items jsonb) returns integer language plpgsql as $$
declare
  settled integer;
begin
  perform 1 from batches b
    where b.id in (select (one ->> 'batch')::uuid from jsonb_array_elements(p_items) one)
    order by b.id for no key update;
  with given as (
    select * from jsonb_to_recordset(p_items) g (batch uuid, created_at timestamptz, n integer, request_id uuid,
      state text, after_ms bigint, is_try boolean, status smallint, reason text, code text,
      policy_outcome text, io_bytes bigint, tagged text)),
  changed as (
    update batch_items i set state = g.state, status = g.status, reason = g.reason, code = g.code,
        policy_outcome = g.policy_outcome, io_bytes = coalesce(i.io_bytes, 0) + g.io_bytes,
        not_before = case when g.state = 'waiting' then now() + make_interval(secs => g.after_ms / 1000.0)
          else i.not_before end,
        -- What never ran is no try.
        tries = i.tries - case when g.is_try then 0 else 1 end,
        sealed = case when g.state = 'waiting' then i.sealed end,
        ended_at = case when g.state <> 'waiting' then now() end
      from given g
      where i.batch_id = g.batch and i.created_at = g.created_at and i.n = g.n
        and i.state = 'running' and i.request_id = g.request_id
      returning i.batch_id, i.n, i.state, g.io_bytes, coalesce(g.code, g.reason) code, g.tagged),
  to_send as (
    insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url, progress)
      select b.id, b.created_at, b.token_id, b.user_id, b.webhook_url, -1 - c.n
        from changed c join batches b on b.id = c.batch_id
        where c.state <> 'waiting' and b.webhook_url is not null and b.template -> 'webhookItems' = 'true'
          -- No listing.
          and (c.n > 0 or b.listing is null)
      on conflict do nothing),
  codes as (
    select batch_id, jsonb_object_agg(code, n) codes from (
      select batch_id, code, count(*) n from changed where state in ('error', 'with-errors') and code is not null
        group by 1, 2) c group by 1),
  tags as (
    select batch_id, jsonb_object_agg(tagged, n) tags from (
      select batch_id, tagged, count(*) n from changed where state <> 'waiting' and tagged is not null group by 1, 2) t
      group by 1),
  sums as (
    select batch_id, count(*) requests, sum(io_bytes) io_bytes, count(*) filter (where state = 'success') success,
      count(*) filter (where state = 'with-errors') with_errors, count(*) filter (where state = 'error') error
    from changed group by batch_id),
  counted as (
    update batches b set requests = b.requests + s.requests, io_bytes = b.io_bytes + s.io_bytes,
        success = b.success + s.success, with_errors = b.with_errors + s.with_errors, error = b.error + s.error,
        codes = coalesce(add_counts(b.codes, c.codes, 1), '{}'), tags = coalesce(add_counts(b.tags, t.tags, 1), '{}')
      from sums s left join codes c using (batch_id) left join tags t using (batch_id) where b.id = s.batch_id)
  select count(*) into settled from changed;
  return settled;
end $$;
