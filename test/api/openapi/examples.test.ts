/**
 * Every example request of the description is sent to the API in every form that its operation accepts. None is
 * refused, and each response matches the description.
 */
import assert from 'node:assert/strict';
import { openapiDocument } from '../../../src/service/api/openapi/openapi_document.ts';
import { OPERATIONS } from '../../../src/service/api/endpoints.ts';
import { PROBE_TOOLS } from '../../../src/platform/kube/client.ts';
import { canonicalPolicy } from '../../../src/media/policy/canonical.ts';
import { SHARED } from '../../../src/platform/store/policies.ts';
import { startFuzzRig, type FuzzRig } from '../../fuzz/api/rig.ts';
import { until } from '../../until.ts';
import { aTool } from '../a_tool.ts';

type Examples = Record<string, { value: Record<string, unknown> }>;
interface Described {
  parameters?: { name: string; in: string; examples?: Record<string, { value: unknown }> }[];
  requestBody?: { content: Record<string, { examples?: Examples }> };
  responses: Record<string, unknown>;
}

/** The versions in the examples are not those of the fixture. */
const VERSIONS = [
  ['ffprobe', '4.3'],
  ['ffprobe', '4.4'],
  ['ffprobe', '7.1'],
  ['ffprobe', '9.0'],
  ['mediainfo', '21.09'],
  ['mediainfo', '23.11'],
  ['mediainfo', '26.10'],
] as const;

const MOST = { policies: 10, revisions: 10, documents: 100, bytes: 1_000_000 };

function pairsOf(value: Record<string, unknown>): [string, string][] {
  return Object.entries(value).flatMap(([name, member]): [string, string][] => {
    if (Array.isArray(member)) return member.map((item) => [name, String(item)]);
    return typeof member === 'object' && member !== null
      ? Object.entries(member).map(([inner, text]): [string, string] => [`${name}[${inner}]`, String(text)])
      : [[name, String(member)]];
  });
}

function bodyOf(
  type: string,
  value: Record<string, unknown>,
): { body: string | FormData; headers: Record<string, string> } {
  if (type === 'application/json') return { body: JSON.stringify(value), headers: { 'Content-Type': type } };
  if (type === 'application/x-www-form-urlencoded')
    return { body: new URLSearchParams(pairsOf(value)).toString(), headers: { 'Content-Type': type } };
  const form = new FormData();
  for (const [name, member] of Object.entries(value))
    if (Array.isArray(member)) for (const item of member) form.append(name, String(item));
    else form.set(name, typeof member === 'object' ? JSON.stringify(member) : String(member));
  return { body: form, headers: {} };
}

describe('examples of the description', function () {
  this.timeout(60_000);
  const { paths } = openapiDocument(OPERATIONS) as { paths: Record<string, Record<string, Described>> };
  let rig: FuzzRig;
  before(async () => {
    rig = await startFuzzRig();
    const add = async ([name, version]: (typeof VERSIONS)[number]): Promise<void> => {
      const object = {
        ...aTool(name, version, { options: [['show_frames', 'select_streams', 'of', 'Output=XML', 'Output=JSON']] }),
        metadata: { name: `${name}-${version}`, namespace: rig.api.namespace },
      };
      await rig.api.kube.create(PROBE_TOOLS, object);
      await rig.api.kube.mergePatchStatus(PROBE_TOOLS, object.metadata.name, object.status!, {
        namespace: rig.api.namespace,
      });
    };
    await Promise.all(VERSIONS.map(add));
    const shared = { account: SHARED, name: 'web-mp4', userId: null };
    const policy = { rules: [{ name: 'container', field: 'container.format', is: 'mp4' }] };
    await rig.api.stored.store.putPolicy(shared, canonicalPolicy(policy as never), MOST);
    await until('the versions are known', () =>
      VERSIONS.every(([name, version]) => rig.api.wired.deps.catalog().versions(name).includes(version)),
    );
  });
  after(() => rig.stop());

  async function check(operation: Described, path: string, init: RequestInit): Promise<void> {
    const response = await fetch(`${rig.api.url}${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${rig.api.token}`, ...(init.headers as Record<string, string>) },
    });
    const text = await response.text();
    assert.ok(
      response.status !== 400 && response.status < 500 && response.status in operation.responses,
      `${response.status} ${text.slice(0, 300)}`,
    );
  }

  let count = 0;
  for (const [path, methods] of Object.entries(paths).filter(([each]) => each.startsWith('/v1/'))) {
    for (const [method, operation] of Object.entries(methods)) {
      const names = new Set(operation.parameters?.flatMap(({ examples = {} }) => Object.keys(examples)));
      for (const name of names) {
        count++;
        it(`${method} ${path}: ${name}`, () => {
          const value = Object.fromEntries(
            operation.parameters!.flatMap((parameter) =>
              parameter.examples?.[name] ? [[parameter.name, parameter.examples[name].value]] : [],
            ),
          );
          return check(operation, `${path}?${new URLSearchParams(pairsOf(value)).toString()}`, {});
        });
      }
      for (const [type, { examples = {} }] of Object.entries(operation.requestBody?.content ?? {})) {
        for (const [name, { value }] of Object.entries(examples)) {
          count++;
          it(`${method} ${path} as ${type}: ${name}`, () =>
            check(operation, path.replaceAll(/\{(\w+)\}/g, '$1'), {
              method: method.toUpperCase(),
              ...bodyOf(type, value),
            }));
        }
      }
    }
  }
  it('exist', () => assert.ok(count > 20, `${count}`));
});
