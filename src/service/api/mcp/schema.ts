/** Messages of JSON-RPC as the description has them. */
import Type from 'typebox';

const Id = Type.Unsafe<string | number | null>({ type: ['string', 'number', 'null'] });

export const MessageSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Id),
    method: Type.String({ description: 'Such as tools/list or tools/call.' }),
    params: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { title: 'McpRequest', additionalProperties: true },
);

export const AnswerSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Id),
    result: Type.Optional(Type.Object({}, { additionalProperties: true })),
    error: Type.Optional(Type.Object({ code: Type.Integer(), message: Type.String() }, { additionalProperties: true })),
  },
  { title: 'McpResponse', additionalProperties: false },
);
