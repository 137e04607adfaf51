-- Everything in the database belongs to its owner. Only data of an older image has objects of the superuser.
do $$
declare
  owner name := current_setting('probeyard.owner');
  one record;
begin
  for one in select format('alter %s %s owner to %I', case c.relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end, c.oid::regclass, owner) statement
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relowner = 10 and c.relkind in ('r', 'p', 'S', 'v', 'm') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
        and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i') and c.relkind = 'S') loop
    execute one.statement;
  end loop;
  for one in select format('alter routine %s owner to %I', p.oid::regprocedure, owner) statement
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proowner = 10 and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
        -- The functions of an extension stay with whoever runs its code: the superuser.
        and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e') loop
    execute one.statement;
  end loop;
  execute format('grant create, usage on schema public to %I', owner);
  perform set_config('probeyard.done', 'owner', false);
end $$;

select 'owner.sql is done' where current_setting('probeyard.done', true) = 'owner';

