/** docs/reports/images.md: every tool image as `images/measure.ts` measured it. */
import { type Entry, STARTUP_LIMIT_MS } from '../../images/catalog.ts';

function rowOf({ tool, version, exact, latest, source, built, slow }: Entry): string {
  const [start, size, when] =
    built === 'never' ? ['never built', '', ''] : [`${built.startup_ms}`, `${built.size_mb}`, built.when];
  const image = `${tool} ${version}${latest ? ' (latest)' : ''}`;
  return `| ${[image, exact, source.kind, start, size, when, slow ?? ''].join(' | ')} |`;
}

export const imagesPage = (entries: readonly Entry[]): string => `# Tool images

Each tool version, with its size and start-up. [images.md](../images.md#measured) says how they are measured.

| image | reports | from | start-up, ms | MB | measured | slower than ${STARTUP_LIMIT_MS} ms because |
|---|---|---|---|---|---|---|
${entries.map(rowOf).join('\n')}
`;
