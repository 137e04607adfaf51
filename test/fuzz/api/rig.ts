/** The API on real servers, with a simulated runner and collector that end every accepted request. */
import { SUBJECT } from '../../../src/platform/bus/messages.ts';
import { outcome } from '../../../src/service/controller/collect/outcome.ts';
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { timeOf } from '../../../src/platform/store/uuid.ts';
import { QUIET } from '../../qc/reports.ts';
import { until } from '../../until.ts';
import type { ToolName } from '../../../src/media/tools/table.ts';
import { createTool, startApi, tool, type ApiFixture } from '../../api/fixture.ts';
import { C2PA_REPORT, HLS_REPORT } from '../../api/reports.ts';
import { headOf, packText, type TextBody } from '../../result/text_body.ts';

export interface FuzzRig {
  api: ApiFixture;
  ended(): number;
  stop(): Promise<void>;
}

const OUTPUTS = [
  tool('ffprobe', '{"streams":[],"format":{}}'),
  tool('ffprobe', 'streams,0', { format: 'text' }),
  tool('ffprobe', '', {
    success: false,
    output: null,
    failure: 'timeout',
    error: 'ffprobe did not finish (exit code 137)',
  }),
  tool('ffprobe', '', {
    success: false,
    output: null,
    failure: 'origin-unreachable',
    error: 'Server returned 404 Not Found (exit code 1)',
  }),
];

/** The output of these tools is always a report. */
const REPORTS: Partial<Record<ToolName, string>> = {
  msv: HLS_REPORT,
  c2pa: C2PA_REPORT,
  qc: JSON.stringify(QUIET),
};

/** Ends in rotation: success, another format, a failed tool, an unreachable origin, no result at all. */
function resultOf(index: number, names: readonly ToolName[]): TextBody | undefined {
  if (index % 5 === 4) return undefined;
  const output = OUTPUTS[index % 5]!;
  return {
    tools: names.map((name) => ({
      ...output,
      name,
      ...(index % 5 < 2 && name in REPORTS ? { format: 'json' as const, output: REPORTS[name]! } : {}),
    })),
    ioUsage: index,
  };
}

export async function startFuzzRig(): Promise<FuzzRig> {
  // No name is resolved, so no webhook of a fuzzed request leaves this machine.
  const lookup = () => Promise.reject(Object.assign(new Error('no names here'), { code: 'ENOTFOUND' }));
  const api = await startApi({ graceMs: 5_000 }, { webhooks: { lookup } });
  // Limits have their own tests, and would hide everything behind 429 here.
  await api.stored
    .sql(`create or replace function take_rate(p_scope text, p_id bigint, p_per_minute integer, out allowed boolean, out
    remaining integer, out reset_ms integer, out retry_after_ms integer)
    language sql as $$ select true, 1000, 0, 0 $$`);
  await createTool(api, 'c2pa', '1.0', { latest: true });
  await createTool(api, 'qc', '7.1', { latest: true });
  const isKnown = (name: ToolName) => api.wired.deps.catalog().versions(name).length === 1;
  await until('the tools are in the catalog', () => isKnown('c2pa') && isKnown('qc'));
  const { store } = api.stored;
  let ended = 0;
  api.bus.subscribe<ProbeJob>(SUBJECT.create, async ({ message: { metadata, spec } }) => {
    const { name: job } = metadata;
    const asked = spec.tools ?? [];
    const result = resultOf(
      ended++,
      asked.map(({ name }) => name),
    );
    const judged = result
      ? outcome(headOf(result), asked)
      : { state: 'error' as const, status: 429, reason: 'QueueTimeout' as const, error: null };
    const body = result ? packText(result).packed : null;
    try {
      const { queueTimeMs } = await store.closeRequest({
        id: job,
        submittedAt: timeOf(job)!,
        state: judged.state,
        status: judged.status,
        reason: judged.reason,
        error: judged.error ?? null,
        attempt: 1,
        startedAt: null,
        tools: [],
        ioBytes: 1,
        body,
      });
      api.bus.publish(SUBJECT.ended(api.wired.deps.settings.replica), {
        id: job,
        status: judged.status,
        reason: judged.reason,
        queueTimeMs,
        hasBody: body !== null,
        ...(body ? { body: body.toString('base64') } : {}),
        ...(judged.error ? { error: judged.error } : {}),
      });
      await api.kube.delete(PROBE_JOBS, job, { namespace: api.namespace }).catch(() => {});
    } catch (error) {
      // The fuzzer has deleted the account, and its open requests with it.
      api.log.push(`rig: ${String(error)}`);
    }
  });
  await api.bus.flush();
  return { api, ended: () => ended, stop: () => api.stop() };
}
