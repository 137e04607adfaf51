/** A request as people and programs send it: pure. No text of a token is ever in it. */
import { SECTION_OF_KIND, type AvailableTool } from '../../api_types.ts';
import { hasSecrets, reportIsOn, runs, setOptions, timelineIsOn, type Body } from './form.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export const curlOf = (origin: string, body: Body): string =>
  [
    `curl -sS ${quoted(`${origin}/v1/probe/file`)}`,
    `-H "Authorization: Bearer $PROBEYARD_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n  ');

/** JSON is YAML: a value in quotes means itself. */
const scalar = (value: unknown): string => JSON.stringify(value);

/** What a resource may hold: an address with secrets belongs into a Secret. */
function sourceLines(url: string): string[] {
  if (!hasSecrets(url) && !/[?#]/.test(url)) return ['  source:', `    url: ${scalar(url)}`];
  return [
    '  source:',
    '    # The address has credentials or a query. Put it into a Secret:',
    '    # kubectl create secret generic probe-source --from-literal=url=…',
    '    secretRef:',
    '      name: probe-source',
  ];
}

/** A resource names a tool as its kind of request is named, and the API by the section of its options. */
const nameOf = (section: string): string =>
  Object.entries(SECTION_OF_KIND).find(([, one]) => one === section)?.[0] ?? section;

function toolLines(query: URLSearchParams, tool: AvailableTool): string[] {
  const version = query.get(`${tool.tool}.version`) ?? '';
  const options = setOptions(query, tool);
  return [
    `    - name: ${nameOf(tool.tool)}`,
    ...(version === '' ? [] : [`      version: ${scalar(version)}`]),
    ...(options.length === 0 ? [] : ['      options:']),
    ...options.map(({ option, value }) => `        ${option.name}: ${scalar(String(value))}`),
  ];
}

export function yamlOf(url: string, query: URLSearchParams, tools: readonly AvailableTool[]): string {
  const policy = query.get('policy') ?? '';
  const used = tools.filter((tool) => runs(query, tool));
  return [
    'apiVersion: probeyard.dev/v1alpha1',
    'kind: ProbeJob',
    'metadata:',
    '  generateName: probe-',
    'spec:',
    ...sourceLines(url.trim()),
    ...(used.length === 0 ? [] : ['  tools:', ...used.flatMap((tool) => toolLines(query, tool))]),
    ...(reportIsOn(query) ? [] : ['  report:', '    enabled: false']),
    ...(policy.startsWith('shared/') ? ['  policy:', `    name: ${scalar(policy)}`] : []),
    ...(policy !== '' && !policy.startsWith('shared/')
      ? [`  # The policy ${policy} belongs to an account: resources name shared policies only.`]
      : []),
    ...(timelineIsOn(query) ? ['  # Timelines are made for requests of the API only.'] : []),
    '',
  ].join('\n');
}
