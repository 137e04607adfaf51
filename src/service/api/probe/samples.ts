/** `GET /v1/samples`: the samples of this installation, by the addresses at which runners read them. */
import Type, { type Static } from 'typebox';
import { SAMPLES } from '../../samples/list.ts';
import type { Deps } from '../deps.ts';
import type { Context } from '../http/request_context.ts';
import { endpoint } from '../http/endpoint.ts';
import { component, oneOf } from '../http/request_fields.ts';

const Sample = component('Sample', {
  url: Type.String({ description: 'Its address as a source.' }),
  group: oneOf(['video', 'audio', 'streams', 'c2pa', 'broken']),
  shows: Type.String(),
  endpoint: oneOf(['file', 'mediastreamvalidator', 'c2pa'], {
    description: 'What it is meant for: the last part of `/v1/probe/…`.',
  }),
  codecs: Type.Unsafe<readonly string[] | null>({
    anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }],
    description: 'Codecs of its streams, as ffprobe names them. Null: ffprobe refuses the file.',
  }),
});
const Answer = component('Samples', { success: Type.Literal(true), samples: Type.Array(Sample) });

/** `origin`: null if none is served. */
export const samplesAt = (origin: string | null): Static<typeof Answer> => ({
  success: true,
  samples:
    origin === null
      ? []
      : SAMPLES.map(({ path, group, shows, endpoint: of, codecs = null }) => ({
          url: `${origin}/${path}`,
          group,
          shows,
          endpoint: of,
          codecs,
        })),
});

function read({ settings }: Deps, ctx: Context): void {
  ctx.set('Cache-Control', 'private, max-age=60');
  ctx.body = samplesAt(settings.samplesUrl);
}

export const readSamples = endpoint(
  'GET /v1/samples',
  {
    id: 'readSamples',
    summary: 'List samples',
    description: 'Small media for a first request, if the operator serves them (`samples.enabled`). Otherwise none.',
    answer: { description: 'The samples.', schema: Answer },
  },
  read,
);
