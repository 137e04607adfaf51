import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { logOf } from './daemon.ts';
import { DAEMONS, POLICY_DAEMON } from './daemons.ts';
import { NODE } from './layout.ts';

/** `make logs [OF=kubelet] [FOLLOW=1]`: the end of each daemon's log. */
const of = process.env['OF'];
const files = [...DAEMONS, POLICY_DAEMON]
  .filter((name) => of === undefined || of === '' || name === of)
  .map((name) => logOf(NODE, name))
  .filter((file) => existsSync(file));
if (files.length === 0) {
  console.error(`no logs${of === undefined ? ': nothing is up' : ` of ${of}; there are ${DAEMONS.join(', ')}`}`);
  process.exitCode = 1;
} else {
  spawn(
    'tail',
    ['-n', files.length === 1 ? '100' : '15', ...((process.env['FOLLOW'] ?? '') === '' ? [] : ['-F']), ...files],
    { stdio: 'inherit' },
  );
}
