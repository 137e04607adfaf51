/** Messages of JSON-RPC, as far as the bridge has to understand them. */

export type Id = string | number;

export interface Message {
  id?: unknown;
  method?: unknown;
  params?: unknown;
  result?: unknown;
}

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
/** Of the transport: the server was not reached, or refused the call. */
export const NOT_SENT = -32_000;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** The parameter that a call is about, by which proxies may route it. */
const NAME_PARAMS = ['name', 'uri', 'taskId'] as const;

type Members = Record<string, unknown>;
const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

const isId = (value: unknown): value is Id => typeof value === 'string' || typeof value === 'number';

export const idOf = ({ id }: Message): Id | null => (isId(id) ? id : null);

export const errorLine = (id: Id | null, code: number, message: string): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`;

/** As header values are written that are not visible ASCII. */
const headerText = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** The request that a client no longer wants. */
export function cancelledBy({ method, params }: Message): Id | undefined {
  if (method !== 'notifications/cancelled') return undefined;
  const { requestId } = membersOf(params);
  return isId(requestId) ? requestId : undefined;
}

/** The revision that an answer to `initialize` settles on. */
export function agreedVersion({ result }: Message): string | undefined {
  const { protocolVersion } = membersOf(result);
  return typeof protocolVersion === 'string' ? protocolVersion : undefined;
}

/** Headers that repeat what the message says, which newer revisions require. `agreed`: by `initialize`. */
export function headersOf({ method, params }: Message, agreed: string | undefined): Record<string, string> {
  const { _meta: meta, ...others } = membersOf(params);
  const own = membersOf(meta)[VERSION_KEY];
  const version = typeof own === 'string' ? own : agreed;
  const name = NAME_PARAMS.map((param) => others[param]).find((value) => typeof value === 'string');
  return {
    ...(version === undefined ? {} : { 'MCP-Protocol-Version': headerText(version) }),
    ...(typeof own === 'string' && typeof method === 'string' ? { 'Mcp-Method': headerText(method) } : {}),
    ...(typeof own === 'string' && typeof name === 'string' ? { 'Mcp-Name': headerText(name) } : {}),
  };
}
