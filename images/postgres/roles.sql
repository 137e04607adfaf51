-- Roles of the server, brought up to date at each start by the superuser in single-user mode; passwords come from files. A blank line ends a statement.
-- Data of an older image: its owner was the superuser that initdb made. That one becomes `postgres`, which frees the name. A session's own user cannot be renamed.
do $$
declare
  bootstrap name := (select rolname from pg_roles where oid = 10);
begin
  if bootstrap <> 'postgres' then
    create role probeyard_renaming superuser;
    set session authorization probeyard_renaming;
    execute format('alter role %I rename to postgres', bootstrap);
    -- Since 17 `default` changes nothing in single-user mode.
    set session authorization postgres;
    drop role probeyard_renaming;
  end if;
  alter role postgres password null;
  perform set_config('probeyard.done', 'renamed', false);
end $$;

do $$
declare
  entry text;
  who name;
  given text;
begin
  foreach entry in array regexp_split_to_array(trim(current_setting('probeyard.roles')), '\s+') loop
    who := split_part(entry, ':', 1);
    given := rtrim(pg_read_file(split_part(entry, ':', 2)), E'\r\n');
    if given = '' then raise exception 'the password of % is empty', who; end if;
    if not exists (select from pg_roles where rolname = who) then execute format('create role %I', who); end if;
    execute format('alter role %I login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password %L', who, given);
    execute format('grant connect on database %I to %I', current_setting('probeyard.database'), who);
  end loop;
  execute format('alter database %I owner to %I', current_setting('probeyard.database'), current_setting('probeyard.owner'));
  execute format('revoke all on database %I from public', current_setting('probeyard.database'));
  revoke all on database postgres from public;
  perform set_config('probeyard.done', current_setting('probeyard.done', true) || ', roles', false);
end $$;

select 'roles.sql is done' where current_setting('probeyard.done', true) = 'renamed, roles';

