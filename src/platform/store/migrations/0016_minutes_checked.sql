-- no transaction: reads every row, and holds up neither reads nor writes.
select ensure_partitions();
alter table rollup_minute validate constraint rollup_minute_ends;
