/**
 * Leader, runner and collector of million.ts, whose tools take no time: each job is created as soon as it is described,
 * and the end of each of its requests is recorded as collectors do. A process of its own, so that it delays no call.
 */
import { connectBus } from '../../src/platform/bus/connect.ts';
import { SUBJECT, type CreateAnswer } from '../../src/platform/bus/messages.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import type { CloseInput } from '../../src/platform/store/records.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { timeOf, uuidv7 } from '../../src/platform/store/uuid.ts';
import type { Listed } from '../../src/source/listing/listing.ts';
import { endedNotice } from '../../src/service/result/ended_notice.ts';
import { requestsOf } from '../../test/api/batch/fixture.ts';
import { closingOf, tool } from '../../test/api/fixture.ts';
import type { TextBody } from '../../test/result/text_body.ts';

export interface Played {
  postgresUrl: string;
  natsUrl: string;
  natsFile: string;
  replica: string;
  /** Objects of the bucket. */
  objects: number;
}

/** Names of one page of a listing, as a runner has them. */
const PAGE = 4_000;
const FAILED_EACH = 10;

const closing = (result: TextBody): CloseInput => closingOf(uuidv7(Date.now()), { result });
const succeeded = (probeScore: number): CloseInput => {
  const format = {
    format_name: 'mov,mp4,m4a,3gp,3g2,mj2',
    duration: '60.0',
    bit_rate: '812345',
    probe_score: probeScore,
  };
  const streams = ['video', 'audio'].map((type, index) => ({ index, codec_type: type, time_base: '1/12800' }));
  return closing({ tools: [tool('ffprobe', JSON.stringify({ streams, format }))], ioUsage: 30_000 });
};
const NOT_THERE = {
  success: false,
  failure: 'origin-unreachable',
  code: 'http-404',
  error: 'x',
  output: null,
} as const;
const failed = closing({ tools: [tool('ffprobe', '', NOT_THERE)], ioUsage: 500 });
/** By the beginning of the address; others are of the bucket. */
const ENDS = [
  ['https://before.', succeeded(100)],
  ['https://after.', succeeded(99)],
  ['', succeeded(100)],
] as const;

let listed = 0;

function page(objects: number): CloseInput {
  const names = Array.from({ length: Math.min(PAGE, objects - listed) }, (_, at) => `2026/film ${listed + at}.mp4`);
  listed += names.length;
  const next = listed < objects ? names.at(-1)! : null;
  const output: Listed = { names, found: names.length, filtered: 0, unreadable: 0, next };
  return closing({ tools: [], skipped: ['ffprobe'], ioUsage: 5, listing: { output: JSON.stringify(output) } });
}

async function play({ postgresUrl, natsUrl, natsFile, replica, objects }: Played): Promise<void> {
  const store = await openStore({ url: postgresUrl, retryMs: 60_000 });
  const settings = { url: natsUrl, credentialsFile: natsFile, inboxPrefix: '_INBOX_controller' };
  const bus = await connectBus({ ...settings, name: 'played' });

  async function run(job: ProbeJob): Promise<void> {
    const { display = '' } = job.spec.source;
    const [, success] = ENDS.find(([start]) => display.startsWith(start))!;
    const isListing = display.endsWith('/...');
    const ids = requestsOf(job);
    for (const [place, id] of ids.entries()) {
      const submittedAt = timeOf(id)!;
      const isFailed = success === ENDS[2][1] && place % FAILED_EACH === FAILED_EACH - 1;
      const end = isListing ? page(objects) : isFailed ? failed : success;
      const { queueTimeMs } = await store.closeRequest({ ...end, id, submittedAt, startedAt: submittedAt });
      if (place < ids.length - 1) continue;
      const hasBody = end.body !== null;
      bus.publish(SUBJECT.ended(replica), endedNotice({ ...end, id, queueTimeMs, hasBody }, end.body));
    }
  }
  bus.serve<ProbeJob, CreateAnswer>(SUBJECT.create, ({ message }) => {
    run(message).catch((error: unknown) => {
      console.error('the played runner failed:', error);
      process.exit(1);
    });
    return { created: true };
  });
  await bus.flush();
}

process.once('disconnect', () => process.exit(0));
process.once('message', (given: Played) => {
  void play(given).then(() => process.send?.('ready'));
});
