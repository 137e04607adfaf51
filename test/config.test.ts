import assert from 'node:assert/strict';
import { ConfigError, loadConfig } from '../src/config.ts';

const AGENT = {
  PY_NATS_URL: 'tls://nats:4222',
  PY_NATS_TOKEN_FILE: '/t',
  PY_POD_UID: 'u',
  PY_POOL: 'short',
  PY_GENERATION: 'g',
};

describe('config', () => {
  it('fills defaults and parses every form', () => {
    const config = loadConfig('agent', {
      ...AGENT,
      PY_LISTEN: '[::1]:99',
      PY_ALLOW_SOURCES: '[{"cidr":"10.88.0.1/32","port":80}]',
      PY_MAX_JOBS: '7',
    });
    assert.deepEqual(config.listen, { host: '::1', port: 99 });
    assert.deepEqual(config.allowSources, [{ cidr: '10.88.0.1/32', port: 80 }]);
    assert.equal(config.maxJobs, 7);
    assert.equal(config.logLevel, 'info');
  });

  const bad: [string, string, RegExp][] = [
    ['PY_LISTEN', 'nowhere', /PY_LISTEN: must be \[host\]:port/],
    ['PY_LISTEN', ':70000', /PY_LISTEN/],
    ['PY_MAX_JOBS', '0', /PY_MAX_JOBS: must be a whole number from 1 to/],
    ['PY_MAX_JOBS', '1e3', /PY_MAX_JOBS/],
    ['PY_LOG_LEVEL', 'loud', /PY_LOG_LEVEL: must be one of trace, debug/],
    ['PY_ALLOW_SOURCES', '{', /PY_ALLOW_SOURCES: is no JSON/],
    ['PY_ALLOW_SOURCES', '[{"port":1}]', /PY_ALLOW_SOURCES: must be a list of/],
    ['PY_DENY_CIDRS', '[1]', /PY_DENY_CIDRS/],
    ['PY_POD_UID', '', /PY_POD_UID: is needed for the role agent/],
  ];
  for (const [variable, value, message] of bad) {
    it(`refuses ${variable}=${value || '(empty)'}`, () => {
      assert.throws(
        () => loadConfig('agent', { ...AGENT, [variable]: value }),
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
      () => loadConfig('agent', { PY_LISTEN: 'hush', PY_MAX_JOBS: 'hush' }),
      (error: ConfigError) => {
        assert.equal(error.problems.length, 7);
        assert.doesNotMatch(error.message, /hush/);
        return true;
      },
    );
  });
});
