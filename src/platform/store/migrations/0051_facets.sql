-- What the files of a batch are: of each item its facets (src/media/policy/facets.ts), and of the batch how many items
-- have each value, as `facet:value`. To count a million items would take seconds, each time that somebody looks.
alter table batch_items add column facets jsonb;
alter table batches add column facets jsonb not null default '{}';

-- What is recorded of a request, with the outcome of its policy. Null: nothing.
create function facets_of(p_tools jsonb, p_policy_outcome text) returns jsonb language sql immutable parallel safe as $$
  select nullif(coalesce(p_tools #> '{0,facets}', '{}') || case when p_policy_outcome is null then '{}'::jsonb
    else jsonb_build_object('policy', jsonb_build_array(p_policy_outcome)) end, '{}')
$$;

-- Counts with the facets of further items. A facet has at most 100 values: the first ones, and of those that come
-- together the most frequent. All others are counted as `facet:`.
create function add_facets(p_counts jsonb, p_facets jsonb[]) returns jsonb language sql immutable parallel safe as $$
  with held as (select split_part(key, ':', 1) facet, count(*) n from jsonb_object_keys(p_counts) key group by 1),
  more as (
    select f.key facet, v.value, p_counts ? (f.key || ':' || v.value) known, count(*) n
      from unnest(p_facets) one, jsonb_each(one) f, jsonb_array_elements_text(f.value) v group by 1, 2),
  kept as (
    select m.n, m.facet || ':' || case when known or coalesce(h.n, 0)
        + row_number() over (partition by m.facet, known order by m.n desc, value) <= 100 then value else '' end key
      from more m left join held h using (facet))
  select coalesce(add_counts(p_counts, (select jsonb_object_agg(key, n) from
    (select key, sum(n) n from kept group by 1) k), 1), '{}')
$$;

-- As in 0045_listed_batches.sql, and facets.
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
      policy_outcome text, io_bytes bigint, tagged text, facets jsonb)),
  changed as (
    update batch_items i set state = g.state, status = g.status, reason = g.reason, code = g.code,
        policy_outcome = g.policy_outcome, io_bytes = coalesce(i.io_bytes, 0) + g.io_bytes,
        facets = case when g.state <> 'waiting' then g.facets end,
        not_before = case when g.state = 'waiting' then now() + make_interval(secs => g.after_ms / 1000.0)
          else i.not_before end,
        -- What never ran is no try.
        tries = i.tries - case when g.is_try then 0 else 1 end,
        sealed = case when g.state = 'waiting' then i.sealed end,
        ended_at = case when g.state <> 'waiting' then now() end
      from given g
      where i.batch_id = g.batch and i.created_at = g.created_at and i.n = g.n
        and i.state = 'running' and i.request_id = g.request_id
      returning i.batch_id, i.n, i.state, g.io_bytes, coalesce(g.code, g.reason) code, g.tagged, i.facets),
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
      count(*) filter (where state = 'with-errors') with_errors, count(*) filter (where state = 'error') error,
      array_agg(facets) filter (where facets is not null) facets
    from changed group by batch_id),
  counted as (
    update batches b set requests = b.requests + s.requests, io_bytes = b.io_bytes + s.io_bytes,
        success = b.success + s.success, with_errors = b.with_errors + s.with_errors, error = b.error + s.error,
        codes = coalesce(add_counts(b.codes, c.codes, 1), '{}'), tags = coalesce(add_counts(b.tags, t.tags, 1), '{}'),
        facets = case when s.facets is null then b.facets else add_facets(b.facets, s.facets) end
      from sums s left join codes c using (batch_id) left join tags t using (batch_id) where b.id = s.batch_id)
  select count(*) into settled from changed;
  return settled;
end $$;
