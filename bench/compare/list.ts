/**
 * Compares versions on a list of addresses, one per line, and writes the report: `make compare LIST=addresses.txt
 * FFPROBE=4.4,9.0 MEDIAINFO=21.09,26.10 OUT=report.json`. PROBEYARD_URL and PROBEYARD_TOKEN are the service and the
 * token.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const AT_ONCE = 4;
/** Per report. */
const MOST = 1_000;
const TRIES = 20;

interface Reply {
  status: number;
  body: Record<string, unknown> & { error?: string };
}

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const [base, token] = [setting('PROBEYARD_URL'), setting('PROBEYARD_TOKEN')];
const addresses = readFileSync(setting('LIST'), 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'));
const asked = Object.fromEntries(
  (['ffprobe', 'mediainfo'] as const).flatMap((tool) => {
    const versions = process.env[tool.toUpperCase()]?.split(',').filter((version) => version !== '') ?? [];
    return versions.length === 0 ? [] : [[tool, { versions }]];
  }),
);
const out = process.env['OUT'] || 'compare-report.json';

/** Retries after the requested pause if it exceeds its rate, or while the service is unavailable. */
async function post(path: string, body: object): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    const wait = Number(response.headers.get('retry-after'));
    const reply = { status: response.status, body: (await response.json()) as Reply['body'] };
    if (![429, 503].includes(reply.status) || tries >= TRIES) return reply;
    await delay(Math.max(1, wait) * 1000);
  }
}

const ids: string[] = [];
const failed: { address: string; error: string }[] = [];

async function compareAll(from: Iterator<string>): Promise<void> {
  for (let next = from.next(); !next.done; next = from.next()) {
    const { status, body } = await post('/v1/compare', { url: next.value, ...asked });
    const id = (body['metadata'] as { request_id?: string } | undefined)?.request_id;
    if (status === 200 && body['success'] === true && id !== undefined) ids.push(id);
    else failed.push({ address: next.value, error: `${status}: ${body.error ?? 'no comparison'}` });
    const done = ids.length + failed.length;
    if (done % 20 === 0) console.log(`${done} of ${addresses.length}: ${failed.length} failed`);
  }
}

const queue = addresses.values();
await Promise.all(Array.from({ length: AT_ONCE }, () => compareAll(queue)));

const reports: Reply['body'][] = [];
for (let at = 0; at < ids.length; at += MOST) {
  const { status, body } = await post('/v1/compare/report', { request_ids: ids.slice(at, at + MOST) });
  if (status !== 200) throw new Error(`the report of comparisons failed: ${status} ${body.error}`);
  reports.push(body);
}
writeFileSync(out, `${JSON.stringify({ asked, request_ids: ids, failed, reports }, null, 2)}\n`);
console.log(`${ids.length} comparisons, ${failed.length} failed; the report is in ${out}`);
for (const { address, error } of failed.slice(0, 5)) console.log(`failed: ${address}: ${error}`);
for (const { fields } of reports)
  for (const { files, tool, path, change, known } of (fields as Record<string, unknown>[]).slice(0, 20))
    console.log(`${String(files)} files: ${String(tool)} ${String(path)} ${String(change)}${known ? ', known' : ''}`);
if (failed.length === addresses.length) process.exitCode = 1;
