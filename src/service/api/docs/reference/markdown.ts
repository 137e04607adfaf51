/** `GET /docs/api.md`: the operations as Markdown, for readers that need no schemas. */
import type { Operation } from '../../openapi/operation.ts';

const entry = ({ method, path, summary, description, permission }: Operation): string =>
  [
    `### ${method.toUpperCase()} ${path}`,
    '',
    `${summary}.${permission === undefined ? '' : ` Permission: \`${permission}\`.`}`,
    ...(description === undefined ? [] : ['', description]),
    '',
  ].join('\n');

export function referenceText(operations: readonly Operation[]): string {
  const byTag = Map.groupBy(operations, ({ tag }) => tag);
  return [
    '# API reference',
    '',
    'Fields, types and errors of each operation are in [/openapi.json](/openapi.json).',
    '',
    ...[...byTag].flatMap(([tag, all]) => [`## ${tag}`, '', ...all.map(entry)]),
  ].join('\n');
}
