-- Roles of the server, brought up to date at each start by the superuser in single-user mode; passwords come from files. A blank line ends a statement.
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
  execute format('grant create, usage on schema public to %I', current_setting('probeyard.owner'));
  perform set_config('probeyard.done', 'roles', false);
end $$;

select 'roles.sql is done' where current_setting('probeyard.done', true) = 'roles';

