/** The description of reading a request back. */
import Type from 'typebox';
import { ComparisonAnswerSchema } from '../../compare/compare_schema.ts';
import { EnvelopeSchema, StandingSchema } from './answers.ts';
import type { Described } from '../../http/endpoint.ts';
import { SINGLES } from '../singles.ts';

export const READ_BACK: Described = {
  id: 'readProbe',
  tag: 'probe',
  summary: 'Read a request back',
  description:
    'The state of a request of the caller and, once it has ended, its result, for as long as the log keeps ' +
    'it. The result is enveloped even if the request asked for the bare output. A request that ended ' +
    'without an envelope returns its own status.',
  params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
  input: 'ignored',
  answer: {
    description: 'The request has ended.',
    schema: Type.Unsafe<object>({
      anyOf: [EnvelopeSchema, ...SINGLES.map(({ envelope }) => envelope), ComparisonAnswerSchema],
    }),
  },
  answers: { 202: { description: 'The request is queued or running.', schema: StandingSchema } },
  errors: {
    400: 'The request ended with this error.',
    404: 'The caller has no such request, or its source was not accessible.',
    499: 'The request was cancelled.',
  },
};
