import assert from 'node:assert/strict';
import { ConfigError, loadConfig } from '../src/config.ts';

const API = {
  PY_POSTGRES_URL: 'postgres://one',
  PY_NATS_URL: 'tls://nats:4222',
  PY_NATS_NKEY_FILE: '/api.nk',
  PY_SEAL_PUBLIC_FILE: '/public.jwks',
  PY_BOX_FILE: '/box',
};

describe('config', () => {
  it('fills defaults and parses every form', () => {
    const config = loadConfig('api', {
      ...API,
      PY_LISTEN: '[::1]:99',
      PY_ALLOW_SOURCES: '[{"cidr":"10.88.0.1/32","port":80}]',
      PY_MAX_QUEUED: '7',
    });
    assert.deepEqual(config.listen, { host: '::1', port: 99 });
    assert.deepEqual(config.allowSources, [{ cidr: '10.88.0.1/32', port: 80 }]);
    assert.equal(config.maxQueued, 7);
    assert.equal(config.logLevel, 'info');
  });

  const bad: [string, string, RegExp][] = [
    ['PY_LISTEN', 'nowhere', /PY_LISTEN: must be \[host\]:port/],
    ['PY_LISTEN', ':70000', /PY_LISTEN/],
    ['PY_MAX_QUEUED', '0', /PY_MAX_QUEUED: must be an integer from 1 to/],
    ['PY_MAX_QUEUED', '1e3', /PY_MAX_QUEUED/],
    ['PY_LOG_LEVEL', 'loud', /PY_LOG_LEVEL: must be one of trace, debug/],
    ['PY_ALLOW_SOURCES', '{', /PY_ALLOW_SOURCES: is not valid JSON/],
    ['PY_ALLOW_SOURCES', '[{"port":1}]', /PY_ALLOW_SOURCES: must be a list of/],
    ['PY_DENY_CIDRS', '[1]', /PY_DENY_CIDRS/],
    ['PY_BOX_FILE', '', /PY_BOX_FILE: is required for the role api/],
  ];
  for (const [variable, value, message] of bad) {
    it(`refuses ${variable}=${value || '(empty)'}`, () => {
      assert.throws(
        () => loadConfig('api', { ...API, [variable]: value }),
        (error: ConfigError) => {
          assert.equal(error.code, 'config-invalid');
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  it('names all that is wrong at once, and never a value', () => {
    assert.throws(
      () => loadConfig('api', { PY_LISTEN: 'hush', PY_MAX_QUEUED: 'hush' }),
      (error: ConfigError) => {
        assert.equal(error.problems.length, 7);
        assert.doesNotMatch(error.message, /hush/);
        return true;
      },
    );
  });
});
