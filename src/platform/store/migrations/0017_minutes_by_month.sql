-- Figures by minute in a part per month. What there is becomes the first part as it stands: no row is read or written.
do $$
declare
  ends timestamptz := (select substring(pg_get_constraintdef(oid) from $q$'([^']+)'$q$)::timestamptz
    from pg_constraint where conrelid = 'rollup_minute'::regclass and conname = 'rollup_minute_ends');
  part text := 'rollup_minute' || to_char((ends - interval '1 day') at time zone 'UTC', '_YYYYMM');
  held record;
begin
  lock table rollup_minute in access exclusive mode;
  execute format('alter table rollup_minute rename to %I', part);
  execute format('alter index rollup_minute_pkey rename to %I', part || '_pkey');
  execute format('create table rollup_minute (like %I including all excluding constraints) partition by range (at)',
    part);
  create table rollup_minute_default partition of rollup_minute default;
  execute format('alter table rollup_minute attach partition %I for values from (minvalue) to (%L)', part, ends);
  execute format('alter table %I drop constraint rollup_minute_ends', part);
  for held in
    select a.privilege_type, case a.grantee when 0 then 'public' else a.grantee::regrole::text end grantee
    from pg_class c, aclexplode(c.relacl) a where c.oid = part::regclass and a.grantee <> c.relowner
  loop
    execute format('grant %s on rollup_minute to %s', held.privilege_type, held.grantee);
  end loop;
end $$;

select ensure_partitions();
