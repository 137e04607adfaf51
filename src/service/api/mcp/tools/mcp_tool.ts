/** What a tool is: the list, the check of its arguments and its work read the same declaration. */
import Type, { type Static, type TProperties, type TObject } from 'typebox';
import { makeReader } from '../../http/input/read_fields.ts';
import { closed, UUID } from '../../http/request_fields.ts';
import type { Answer, Calls } from '../calls.ts';
import { DEFAULT_BYTES, LEAST_BYTES, LONGEST_BYTES, type Said } from '../answer_text.ts';
import type { Shape } from './result_summary.ts';

/** `running`: the request goes on, under this id. */
export type Outcome = Said | { running: string } | { answer: Answer; shape: Shape };

export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  annotations: { readOnlyHint: boolean; openWorldHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
  run(calls: Calls, args: unknown): Promise<{ outcome: Outcome; mostBytes: number }>;
}

const MaxBytes = Type.Integer({
  minimum: LEAST_BYTES,
  maximum: LONGEST_BYTES,
  default: DEFAULT_BYTES,
  description: 'Size limit of the answer. Many clients cut longer ones.',
});

export const Url = Type.String({
  minLength: 1,
  maxLength: 8192,
  description: 'Address of a file, playlist or stream: https, s3, ftp, rtmp, rtsp, srt and others.',
});

export const Uuid = Type.String({ pattern: UUID, description: 'The request_id of an earlier answer.' });

interface Declared<P extends TProperties> extends Pick<Tool, 'name' | 'title' | 'description'> {
  fields: P;
  /** Changes nothing but the log. */
  readOnly?: boolean;
  /** Each call makes one more, and changes nothing that was there. */
  creates?: boolean;
  /** Reads sources on other hosts. */
  openWorld?: boolean;
  run(calls: Calls, args: Static<TObject<P>>): Promise<Outcome>;
}

/** What has a default may be left out. Clients that validate arguments would not send such a call. */
function forCallers({ required, ...schema }: TObject): object {
  const needed = required.filter((name) => !('default' in schema.properties[name]!));
  return { ...schema, ...(needed.length === 0 ? {} : { required: needed }) };
}

export function tool<const P extends TProperties>({
  fields,
  readOnly = true,
  creates = false,
  openWorld = false,
  run,
  ...named
}: Declared<P>): Tool {
  const inputSchema = closed({ ...fields, max_bytes: MaxBytes });
  const read = makeReader<Static<TObject<P>> & { max_bytes: number }>(inputSchema);
  return {
    ...named,
    inputSchema: forCallers(inputSchema),
    annotations: {
      readOnlyHint: readOnly,
      openWorldHint: openWorld,
      ...(readOnly ? {} : { destructiveHint: !creates, idempotentHint: !creates }),
    },
    async run(calls, given) {
      const { max_bytes: mostBytes, ...args } = read({ form: 'json', value: given ?? {} });
      return { outcome: await run(calls, args as unknown as Static<TObject<P>>), mostBytes };
    },
  };
}
