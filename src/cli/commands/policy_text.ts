/** What `--policy` names: a saved policy, or a file that holds one. */
import { readFile } from 'node:fs/promises';
import { EXIT, Failure, usage } from '../failure.ts';

const FILE = /\.(?:ya?ml|json)$/i;
const MOST_BYTES = 64 * 1024;

export async function policyOf(text: string): Promise<string | Record<string, unknown>> {
  if (/\.xml$/i.test(text))
    throw usage(`${text}: a policy of MediaConch has to be saved first`, 'PUT /v1/policy/NAME translates it');
  if (!FILE.test(text)) return text;
  let content: string;
  try {
    content = await readFile(text, 'utf8');
  } catch (error) {
    throw new Failure(`${text}: cannot be read: ${(error as NodeJS.ErrnoException).code}`, EXIT.usage, {
      hint: 'a name that ends in .yaml, .yml or .json is a file',
    });
  }
  if (content.length > MOST_BYTES) throw usage(`${text}: is larger than 64 KB`);
  return parsed(content, text);
}

async function parsed(content: string, path: string): Promise<Record<string, unknown>> {
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(content, { maxAliasCount: 0 });
  } catch (error) {
    throw usage(`${path}: is not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw usage(`${path}: is not a policy: it needs rules`);
  return value as Record<string, unknown>;
}
