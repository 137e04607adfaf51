/** How reading a request back is described. */
import Type from 'typebox';
import { EnvelopeSchema, StandingSchema } from './answers.ts';
import type { Described } from '../http/endpoint.ts';
import { C2paEnvelopeSchema, MsvEnvelopeSchema } from './probe_single.ts';

export const READ_BACK: Described = {
  id: 'readProbe',
  tag: 'probe',
  summary: 'Read a request back',
  description:
    "How a request of the caller's own stands, and its result for as long as the log keeps it, enveloped also where the request asked for the bare output. A request that ended without an envelope answers with its own status.",
  params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
  input: 'ignored',
  answer: {
    description: 'The request has ended.',
    schema: Type.Unsafe<object>({ anyOf: [EnvelopeSchema, C2paEnvelopeSchema, MsvEnvelopeSchema] }),
  },
  answers: { 202: { description: 'The request waits or runs.', schema: StandingSchema } },
  errors: {
    400: 'The request ended with this.',
    404: "There is no such request of the caller's; or its source was not accessible.",
  },
};
