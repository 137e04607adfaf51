/** Ends the jobs that blocks create as a runner would, with real outputs of the tools. */
import { setTimeout as pause } from 'node:timers/promises';
import { FFPROBE_OPTIONS } from '../../src/media/tools/ffprobe_options.ts';
import { PROBE_JOBS, PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { tool, type ApiFixture } from '../api/fixture.ts';
import { C2PA_REPORT, HLS_REPORT } from '../api/reports.ts';
import { inputOf, outputsOf, reportOf } from '../report/sample.ts';

const SAMPLE = 'picture_and_sound.mkv';
export interface Answering {
  /** Fails if a job could not be ended. */
  stop(): Promise<void>;
}

/** Every option of the catalog, as a version of today has them. */
export async function allowAllOptions({ kube, namespace }: ApiFixture): Promise<void> {
  const options = FFPROBE_OPTIONS.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
  await kube.mergePatchStatus(
    PROBE_TOOLS,
    'ffprobe-7.0',
    { architectures: [{ arch: 'amd64', version: '7.0', options }] },
    { namespace },
  );
}

export function answering(api: ApiFixture): Answering {
  const outputs = outputsOf(SAMPLE);
  const report = JSON.stringify(reportOf(inputOf(SAMPLE)));
  const outputOf: Record<string, string> = {
    ffprobe: JSON.stringify(outputs['ffprobe 9.0']),
    mediainfo: JSON.stringify(outputs['mediainfo 26.10']),
    msv: HLS_REPORT,
    c2pa: C2PA_REPORT,
  };
  const answered = new Set<string>();
  const stopping = new AbortController();

  async function end({ metadata: { name }, spec }: ProbeJob): Promise<void> {
    const asked = (spec.tools ?? []).map((one) => ({ name: one.name }));
    await api.end(name, {
      asked,
      result: {
        tools: asked.map((one) => tool(one.name, outputOf[one.name] ?? '{}')),
        ioUsage: 21_358,
        ...(spec.report === undefined ? {} : { report: { ...tool('ffprobe', report), version: '1' } }),
      },
    });
  }

  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const { items } = await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace });
      for (const job of items) {
        if (answered.has(job.metadata.name)) continue;
        answered.add(job.metadata.name);
        await end(job);
      }
      await pause(50);
    }
  })();
  loop.catch(() => {});
  return {
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}
