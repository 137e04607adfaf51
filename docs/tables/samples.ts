/** docs/samples.md: each sample, and what it shows. */
import { FIRST_SAMPLE, SAMPLES, type Sample, type SampleGroup } from '../../src/service/samples/list.ts';

const TITLES: Readonly<Record<SampleGroup, string>> = {
  video: 'Video',
  audio: 'Audio',
  streams: 'Streams',
  c2pa: 'C2PA',
  broken: 'Broken files',
};

const row = ({ path, shows, codecs, endpoint }: Sample): string => {
  const read = codecs === undefined ? 'none' : codecs.length === 0 ? '' : codecs.map((one) => `\`${one}\``).join(', ');
  return `| \`${path}\` | ${shows} | ${read} | \`${endpoint}\` |`;
};

const tables = (): string[] =>
  Object.entries(TITLES).flatMap(([group, title]) => {
    const rows = SAMPLES.filter((sample) => sample.group === group).map(row);
    if (rows.length === 0) return [];
    return [`## ${title}`, '', '| file | shows | codecs | endpoint |', '|---|---|---|---|', ...rows, ''];
  });

export const samplesPage = (): string =>
  [
    '# Samples',
    '',
    'Small media for first requests, examples and tests: generated from test pictures and tones when the image is',
    'built (`images/samples`), so that nobody else has rights in them, and together smaller than 10 MB.',
    '`samples.enabled: true` in the values of the chart serves them inside the cluster, at',
    '`http://<release>-samples.<namespace>.svc/`. Runners read that one address although it is private; nobody outside',
    'the cluster reaches it. The cluster of `make up` has them:',
    '',
    '    curl -s "$PROBEYARD_URL/v1/probe/file" -H "Authorization: Bearer $PROBEYARD_TOKEN" \\',
    `      -d url=http://probeyard-samples.probeyard.svc/${FIRST_SAMPLE}`,
    '',
    'A test on the cluster probes each of them, and compares the codecs with those of these tables, which are as',
    'ffprobe names them. `none` is a file that ffprobe refuses.',
    '',
    ...tables(),
  ].join('\n');
