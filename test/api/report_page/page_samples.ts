/** What a page of each kind is made from. Names in them are hostile. */
import type { PageInput } from '../../../src/service/api/report_page/report_page.ts';
import { CHECKS, FILM_TIMELINE, REPORT, VERDICT } from '../../console/sample_answers.ts';
import { LADDER } from '../../console/sample_ladder.ts';
import { DAMAGE, PICTURES, WHOLE } from '../../qc/reports.ts';

export const HOSTILE = '"><img src=x onerror=alert(1)>\u202egnp\u0000</title></style><script>alert(2)</script>\'`${1}';

const tool = (name: string, change: Partial<PageInput['tools'][number]> = {}) => ({
  name,
  version: '9.0',
  success: true,
  durationMs: 31.2,
  ...change,
});

const page = (change: Partial<PageInput>): PageInput => ({
  id: '019a5f3e-8a00-7000-8000-000000000001',
  kind: 'file',
  state: 'success',
  addresses: ['https://media.example.com/films/a%20film.mp4?token=REDACTED'],
  sent: '2026-11-26T10:00:00.123Z',
  ended: '2026-11-26T10:00:01.456Z',
  error: null,
  tools: [tool('ffprobe'), tool('mediainfo', { version: '25.09' })],
  policy: null,
  waived: [],
  outputs: {},
  gone: null,
  shared: null,
  ...change,
});

const FINE = { ...REPORT, container: { ...REPORT.container, title: 'A film' }, warnings: [], diff: [] };
const MANY = Array.from({ length: 250 }, (_, at) => ({
  path: `streams[${at}].duration`,
  ffprobe: at,
  mediainfo: HOSTILE.repeat(9),
  chosen: null,
  reason: HOSTILE,
}));

export const PAGES = {
  good: page({
    outputs: { report: JSON.stringify(FINE) },
    policy: { name: 'house-delivery', revision: 3, outcome: 'pass', rules: VERDICT.rules.slice(0, 1) },
  }),
  disagreement: page({
    outputs: { report: JSON.stringify(REPORT), timeline: JSON.stringify(FILM_TIMELINE) },
    policy: VERDICT,
    shared: { by: 'Ann Smith', until: '2026-12-03T10:00:00.000Z' },
  }),
  hls: page({
    kind: 'msv',
    state: 'with-errors',
    outputs: { hls: JSON.stringify(LADDER) },
    tools: [tool('msv', { success: false, error: '2 must-fix: EXT-X-TARGETDURATION is too small', code: 'must-fix' })],
  }),
  failed: page({
    state: 'error',
    error: 'the source is not accessible: the name media.example.com does not exist',
    tools: [tool('ffprobe', { success: false, error: 'media.example.com: not found', code: 'dns' })],
  }),
  expired: page({
    gone: 'the result is no longer kept',
    tools: [],
    policy: { name: 'house-delivery', revision: 3, outcome: 'fail', rules: [] },
  }),
  hostile: page({
    addresses: [`https://media.example.com/${HOSTILE}`],
    error: HOSTILE,
    tools: [tool(HOSTILE, { success: false, error: HOSTILE, code: HOSTILE, version: HOSTILE })],
    state: 'error',
    outputs: {
      report: JSON.stringify({
        ...REPORT,
        container: { ...REPORT.container, title: HOSTILE, encoder: HOSTILE, format: HOSTILE },
        warnings: [{ code: HOSTILE, message: HOSTILE, path: HOSTILE }],
        diff: MANY,
      }),
      qc: JSON.stringify({
        ...CHECKS,
        integrity: { ...WHOLE, cut: HOSTILE },
        file: { bytes: 1, sha256: HOSTILE },
        cut: HOSTILE,
        not_checked: [{ stream: 9, type: 'audio', why: HOSTILE }],
      }),
      hls: JSON.stringify(LADDER).replaceAll('720p', JSON.stringify(HOSTILE).slice(1, -1)),
    },
    policy: {
      ...VERDICT,
      name: HOSTILE,
      rules: VERDICT.rules.map((rule) => ({ ...rule, name: HOSTILE, actual: HOSTILE })),
    },
    shared: { by: HOSTILE, until: '2026-12-03T10:00:00.000Z' },
  }),
  comparison: page({
    kind: 'compare',
    addresses: ['https://media.example.com/a.mp4', 'https://media.example.com/b.mp4'],
    tools: [tool('ffprobe of a'), tool('ffprobe of b')],
    outputs: {
      comparison: JSON.stringify({
        fields: [
          {
            path: 'container.duration',
            tool: 'ffprobe',
            level: 'canonical',
            change: 'value',
            values: { a: 1, b: HOSTILE },
          },
        ],
        summary: { fields: 1, told: 1, known: 0, not_compared: [] },
      }),
    },
  }),
  provenance: page({
    kind: 'c2pa',
    outputs: {
      c2pa: JSON.stringify({
        active_manifest: 'one',
        manifests: { one: { title: 'photo.jpg', signature_info: { issuer: 'Example Press' } } },
        validation_state: 'Valid',
        validation_results: { activeManifest: { failure: [{ code: 'signingCredential.untrusted' }] } },
      }),
    },
  }),
  content: page({ outputs: { qc: JSON.stringify(CHECKS), pictures: JSON.stringify(PICTURES) } }),
  damage: page({ outputs: { qc: JSON.stringify({ ...CHECKS, ...DAMAGE['errors'] }) } }),
  unreadable: page({
    outputs: {
      report: '{"container":7',
      hls: '{"summary":null}',
      timeline: '{"streams":{}}',
      c2pa: null,
      qc: '{"video":{}}',
      pictures: '{"video":7}',
    },
  }),
} satisfies Record<string, PageInput>;
