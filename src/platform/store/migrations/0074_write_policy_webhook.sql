-- write:policy was part of write:media, and the retry of a webhook was part of read:media. A user keeps what they had,
-- and what they were refused. A token of all permissions of its user (null) follows its user. One with a list of its own
-- was narrowed for a program, such as a CI job that is judged by a policy: it does not get write:policy.
update users set permissions = permissions || '{write:policy}'::text[]
  where 'write:media' = any(permissions) and 'write:policy' <> all(permissions);
update users set restrictions = restrictions || '{write:policy}'::text[]
  where 'write:media' = any(restrictions) and 'write:policy' <> all(restrictions);
update users set permissions = permissions || '{write:webhook}'::text[]
  where permissions @> '{read:media,write:media}' and 'write:webhook' <> all(permissions);
update users set restrictions = restrictions || '{write:webhook}'::text[]
  where restrictions && '{read:media,write:media}' and 'write:webhook' <> all(restrictions);
-- Not the default token: it belongs to jobs made with kubectl, and calls nothing.
update tokens set permissions = permissions || '{write:webhook}'::text[]
  where permissions @> '{read:media,write:media}' and 'write:webhook' <> all(permissions) and not is_default;
