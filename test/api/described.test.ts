import assert from 'node:assert/strict';
import { undescribed, watched, type Seen } from './described.ts';
import { PROBE_REPORT } from './reports.ts';

const metadata = { request_id: '01a2040c-a33e-71b4-8c68-9abeecd6b56c', queue_time: 7, io_usage: 77 };
const result = (response: unknown) => ({ success: true, duration: 1, usage: 1, response });
const enveloped = (response: unknown): string =>
  JSON.stringify({ success: true, metadata, probe_report: result(response) });
const report = JSON.parse(PROBE_REPORT) as object;

const seen = (change: Partial<Seen>): Seen => ({
  method: 'POST',
  path: '/v1/probe/file?token=x',
  status: 200,
  type: 'application/json; charset=utf-8',
  body: enveloped(report),
  ...change,
});

describe('check of responses against the OpenAPI description', () => {
  for (const [what, change] of [
    ['an envelope', {}],
    ['a report without its envelope', { body: PROBE_REPORT }],
    ['an error of a probe endpoint', { status: 404, body: '{"error":"gone"}' }],
    ['text of a tool', { type: 'text/plain; charset=utf-8', body: 'streams,0' }],
    ['another method', { method: 'DELETE', status: 405, body: '{"error":"no"}' }],
    ['a page', { method: 'GET', path: '/', type: 'text/html', body: '<html>' }],
  ] as const)
    it(`accepts ${what}`, () => assert.equal(undescribed(seen(change)), undefined));

  for (const [what, change, fault] of [
    ['a status that is not listed', { status: 418 }, /status is not described/],
    ['another media type', { type: 'image/png' }, /media type is "image\/png"/],
    ['a body that is not JSON', { body: '{' }, /not valid JSON/],
    ['a member that the report does not have', { body: enveloped({ ...report, extra: 1 }) }, /"extra"/],
    ['a member of another type', { body: enveloped({ ...report, duration: 'long' }) }, /\/duration must be number/],
    ['a report without a list', { body: enveloped({ ...report, streams: undefined }) }, /"streams"/],
    [
      'an error of the management endpoints',
      { status: 404, body: '{"error":"gone","code":40400}' },
      /\/code must be string/,
    ],
    ['a body where none is described', { method: 'GET', path: '/openapi.json', status: 304, body: 'x' }, /a body/],
    ['an unknown path with a body of its own', { path: '/nowhere', status: 404, body: '{"message":"no"}' }, /"error"/],
  ] as const)
    it(`reports ${what}`, () => assert.match(undescribed(seen(change)) ?? 'nothing is wrong', fault));

  it('fails the test suite of an API that responds so, and names the call', () => {
    const { handler, assertDescribed } = watched((_request, response) => {
      response.statusCode = 418;
      response.end('{}');
    });
    assert.doesNotThrow(assertDescribed);
    const response = { write() {}, end() {}, getHeader: () => 'application/json', statusCode: 0 };
    handler({ method: 'GET', url: '/v1/probe/file', socket: { writable: true } } as never, response as never);
    assert.throws(assertDescribed, /GET \/v1\/probe\/file 418: the status is not described/);
  });
});
