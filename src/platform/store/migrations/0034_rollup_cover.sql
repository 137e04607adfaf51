-- The keys of the rollups by minute and hour hold their rows whole. Folding writes the rows of all users side by side in the order of time, so
-- a user's year of hours lies in as many blocks as it has rows; in the key it lies together. Days are few, and change with every fold: they
-- stay as they are, and so their rows are changed in place.
create unique index rollup_minute_whole on rollup_minute (user_id, at, token_id) include (
  requests, file_success, file_with_errors, file_error, msv_success, msv_with_errors, msv_error, c2pa_success, c2pa_with_errors, c2pa_error,
  hls, dash, http, https, s3, ftp, rtmp, rtsp, srt, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram);
alter table rollup_minute drop constraint rollup_minute_pkey;
alter table rollup_minute add constraint rollup_minute_pkey primary key using index rollup_minute_whole;
create unique index rollup_hour_whole on rollup_hour (user_id, at, token_id) include (
  requests, file_success, file_with_errors, file_error, msv_success, msv_with_errors, msv_error, c2pa_success, c2pa_with_errors, c2pa_error,
  hls, dash, http, https, s3, ftp, rtmp, rtsp, srt, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram);
alter table rollup_hour drop constraint rollup_hour_pkey;
alter table rollup_hour add constraint rollup_hour_pkey primary key using index rollup_hour_whole;
