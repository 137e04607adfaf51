import assert from 'node:assert/strict';
import type { ResponseForm } from '../../src/service/result/answer.ts';
import { keptRequest, readKeptRequest } from '../../src/service/result/kept_request.ts';

/** As returned by jsonb. */
const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const OPTIONS = { timeout: 65_000, only: 'ffprobe', inject_json: true, ffprobe: { version: '7.1' } };
const FORM: ResponseForm = { shown: ['ffprobe'], injectOutput: true, bareType: 'text/csv', injectJson: true };

describe('stored request', () => {
  it('returns the options unchanged, and the form always enveloped', () => {
    const request = stored(keptRequest(OPTIONS, FORM));
    assert.deepEqual(readKeptRequest({ kind: 'file', request }), {
      options: OPTIONS,
      response: { shown: ['ffprobe'], injectOutput: false, injectJson: true },
    });
  });

  it('keeps the form of an endpoint of one tool', () => {
    const form: ResponseForm = { single: 'msv', shown: [], injectOutput: true, injectJson: false };
    const request = stored(keptRequest({}, form));
    assert.deepEqual(readKeptRequest({ kind: 'msv', request }).response, { ...form, injectOutput: false });
  });

  it('shows everything of a request that was not opened by the API', () => {
    for (const request of [{}, null]) {
      assert.deepEqual(readKeptRequest({ kind: 'file', request }), {
        options: {},
        response: {
          shown: ['ffprobe', 'mediainfo', 'probe_report', 'msv', 'c2pa', 'qc'],
          injectOutput: false,
          injectJson: false,
        },
      });
      const { response } = readKeptRequest({ kind: 'msv', request });
      assert.deepEqual(response, { single: 'msv', shown: [], injectOutput: false, injectJson: true });
    }
  });
});
