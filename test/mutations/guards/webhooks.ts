/** What is sent to receivers: once, signed, to a good address, and not for ever. contract 5. */
import type { Mutation } from '../mutation.ts';

const DELIVER = 'test/webhooks/deliver.test.ts';
const SEND = 'test/webhooks/send.test.ts';
const SCHEDULE = 'test/webhooks/schedule.test.ts';

export const webhooks: readonly Mutation[] = [
  { guard: 'whoever sends a webhook holds a lease on it', file: 'src/store/webhooks.ts', from: 'and next_at <= now() and (lease_until is null or lease_until < now())`;', to: 'and next_at <= now()`;', test: DELIVER, grep: 'sends each once' },
  { guard: 'a verdict counts only under its lease', file: 'src/store/webhooks.ts', from: 'where id = $1 and leased_by = $2 returning id`', to: "where id = $1 and $2 <> '' returning id`", test: DELIVER, grep: 'a late verdict changes nothing' },
  { guard: 'what a dead replica held is taken up', file: 'src/store/webhooks.ts', from: 'lease_until = now() + make_interval(secs => $2 / 1000.0), leased_by = $1 from mine', to: "lease_until = now() + make_interval(secs => $2), leased_by = $1 from mine", test: DELIVER, grep: 'counts an attempt whose replica died' },
  { guard: 'a silent receiver holds up its own token alone', file: 'src/store/webhooks.ts', from: 'due.n <= $4 - coalesce(busy.held, 0)', to: 'due.n <= 1000 + $4 - coalesce(busy.held, 0)', test: DELIVER, grep: 'an account whose receivers are silent' },
  { guard: 'a webhook is signed over id, time and body', file: 'src/webhooks/sign.ts', from: 'update(`${id}.${timestamp}.`).update(body)', to: 'update(body)', test: 'test/webhooks/sign.test.ts' },
  { guard: '410 stops at once', file: 'src/webhooks/schedule.ts', from: "if (status === 410) return { state: 'failed' };", to: '', test: SCHEDULE },
  { guard: 'a receiver may not ask for a pause for ever', file: 'src/webhooks/schedule.ts', from: 'Math.min(Math.max(asked, 0), LONGEST_PAUSE_MS)', to: 'Math.max(asked, 0)', test: SCHEDULE },
  { guard: 'a webhook is given up after its last retry', file: 'src/webhooks/schedule.ts', from: "if (pause === undefined) return { state: 'failed' };", to: "if (pause === undefined) return { state: 'pending', afterMs: 0 };", test: SCHEDULE },
  { guard: 'what failed together does not come back together', file: 'src/webhooks/schedule.ts', from: 'pause * (1 + JITTER * random())', to: 'pause', test: SCHEDULE },
  { guard: 'a receiver is at a good address, whatever its name', file: 'src/webhooks/deliver.ts', from: 'const guard = makeGuard({ allow: [...settings.allowSources, ...webhook.allow],', to: "const guard = makeGuard({ allow: [{ cidr: '0.0.0.0/0' }, { cidr: '::/0' }],", test: DELIVER, grep: 'connects to nothing that is refused' },
  { guard: 'redirects of a receiver are not followed', file: 'src/webhooks/send.ts', from: 'if (status >= 200 && status <= 299) return end(status);', to: 'if (status >= 200 && status <= 399) return end(status);', test: SEND, grep: 'follows no redirect' },
  { guard: 'a receiver has its time and no more', file: 'src/webhooks/send.ts', from: 'const signal = AbortSignal.timeout(timeoutMs);', to: 'const signal = new AbortController().signal;', test: SEND, grep: 'gives up a receiver that is silent' },
  { guard: 'an address of a webhook with a password is sealed', file: 'src/webhooks/kept_url.ts', from: 'if (parseSource(url).credentials === undefined) return', to: 'if (url) return', test: 'test/webhooks/kept_url.test.ts', grep: 'with user info is sealed' },
  { guard: 'a receiver\'s certificate must be good', file: 'src/webhooks/deliver.ts', from: '{ guard, verify: true,', to: '{ guard, verify: false,', test: DELIVER, grep: 'certificate' },
  { guard: 'a private receiver is refused when it is named', file: 'src/api/webhook_url.ts', from: 'if (isRefusedLiteral(address, rules)) throw', to: 'if (false) throw', test: 'test/api/webhooks.test.ts', grep: 'as a receiver, before anything is made' },
  { guard: 'a body above a megabyte leaves the outputs out', file: 'src/webhooks/body.ts', from: 'if (all.length <= MAX_BODY_BYTES) return all;', to: 'return all;', test: 'test/webhooks/body.test.ts', grep: 'above a megabyte' },
  { guard: 'a webhook of another is not there', file: 'src/store/webhooks.ts', from: 'const mine = `id = $1 and ($2::bigint[] is null or user_id = any($2))`;', to: 'const mine = `id = $1 and ($2::bigint[] is null or true)`;', test: DELIVER, grep: 'only to its owner' },
];
