import assert from 'node:assert/strict';
import { ConfigError, directPostgresOf, loadConfig, postgresOf } from '../src/base/config.ts';
import { lifeEnvironment, type NextLife } from '../src/service/runner/renewal.ts';

const ISSUER = {
  name: 'corp',
  issuer: 'https://id.example/realms/main',
  clientId: 'probeyard',
  hasSecret: true,
  scopes: ['email'],
  claims: { email: 'email', groups: 'groups' },
  groups: { staff: 'user', admins: 'admin', team: 7 },
  allowedDomains: [],
  linkByEmail: false,
  audience: '',
};

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
    assert.equal(config.serviceAccount, '/var/run/secrets/kubernetes.io/serviceaccount');
  });

  it('takes the address of Postgres from a folder instead', () => {
    const config = loadConfig('api', { ...API, PY_POSTGRES_URL: '', PY_POSTGRES_FOLDER: '/etc/pg' });
    assert.deepEqual(
      [postgresOf(config).folder, directPostgresOf(config)],
      [
        '/etc/pg',
        {
          url: '',
          direct: true,
          folder: '/etc/pg',
          caFile: undefined,
          certificateFile: undefined,
          keyFile: undefined,
        },
      ],
    );
  });

  it('takes issuers of single sign-on, and refuses them without the address that they send people back to', () => {
    const issuers = { ...API, PY_OIDC: JSON.stringify([ISSUER]) };
    assert.deepEqual(loadConfig('api', { ...issuers, PY_PUBLIC_URL: 'https://p.example' }).issuers, [ISSUER]);
    assert.throws(() => loadConfig('api', issuers), /PY_PUBLIC_URL: is required with PY_OIDC/);
  });

  for (const [what, change] of Object.entries<object>({
    'a name that is no part of an address': { name: 'a/b' },
    'an issuer without TLS': { issuer: 'http://id.example' },
    'an issuer with a query': { issuer: 'https://id.example?a' },
    'no client': { clientId: '' },
    'a role that no group gives': { groups: { staff: 'root' } },
    'an account that is no id': { groups: { staff: 0 } },
    'an audience that ID tokens have': { audience: 'probeyard' },
  }))
    it(`refuses an issuer with ${what}`, () => {
      const env = { ...API, PY_PUBLIC_URL: 'https://p.example', PY_OIDC: JSON.stringify([{ ...ISSUER, ...change }]) };
      assert.throws(() => loadConfig('api', env), /PY_OIDC: must be a list of issuers/);
    });

  it('refuses two issuers of one name, and one issuer twice', () => {
    for (const change of [{ name: 'other' }, { issuer: 'https://other.example' }]) {
      const PY_OIDC = JSON.stringify([ISSUER, { ...ISSUER, ...change }]);
      assert.throws(() => loadConfig('api', { ...API, PY_PUBLIC_URL: 'https://p.example', PY_OIDC }), /PY_OIDC/);
    }
  });

  const bad: [string, string, RegExp][] = [
    ['PY_LISTEN', 'nowhere', /PY_LISTEN: must be \[host\]:port/],
    ['PY_LISTEN', ':70000', /PY_LISTEN/],
    ['PY_MAX_QUEUED', '0', /PY_MAX_QUEUED: must be an integer from 1 to/],
    ['PY_MAX_QUEUED', '1e3', /PY_MAX_QUEUED/],
    ['PY_LOG_LEVEL', 'loud', /PY_LOG_LEVEL: must be one of trace, debug/],
    ['PY_ALLOW_SOURCES', '{', /PY_ALLOW_SOURCES: is not valid JSON/],
    ['PY_ALLOW_SOURCES', '[{"port":1}]', /PY_ALLOW_SOURCES: must be a list of/],
    ['PY_ALLOW_WEBHOOKS', '[{"port":1}]', /PY_ALLOW_WEBHOOKS: must be a list of/],
    ['PY_DENY_CIDRS', '[1]', /PY_DENY_CIDRS/],
    ['PY_PASSWORDS', 'no', /PY_PASSWORDS: must be true or false/],
    ['PY_ABSENCE_DAYS', '0', /PY_ABSENCE_DAYS/],
    ['PY_BOX_FILE', '', /PY_BOX_FILE: is required for the role api/],
    ['PY_POSTGRES_URL', '', /PY_POSTGRES_URL: is required for the role api, or PY_POSTGRES_FOLDER/],
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

  it('reports all problems at once, and never a value', () => {
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

describe('settings of a runner', () => {
  const good = {
    pool: 'short',
    generation: 'g',
    logLevel: 'info',
    healthPort: 1,
    nats: { url: 'tls://nats:4222', tokenFile: '/token' },
    launcherSocket: '/socket',
    toolsDir: '/tools',
    toolMemoryBytes: 1,
    drainMs: 1,
    sources: { allow: [], denyExtra: [], pace: { minBytes: 1 }, s3: {} },
  };
  const load = (settings: unknown) => loadConfig('agent', { PY_POD_UID: 'u', PY_RUNNER: JSON.stringify(settings) });
  const egress = { url: 'http://proxy', noProxy: [], resolve: 'here' };

  it('are read as the controller writes them', () => {
    assert.deepEqual(load(good).settings, good);
    const full = { ...good, sources: { ...good.sources, egress, caFile: '/ca', s3: { region: 'eu' } }, later: 1 };
    assert.deepEqual(load(full).settings, full);
  });

  it('a life is told of the ones before', () => {
    const of = (next: NextLife) => {
      const given = { PY_POD_UID: 'u', PY_RUNNER: JSON.stringify(good), ...lifeEnvironment(next) };
      const { life, jobsBefore, networkEnforced } = loadConfig('agent', given);
      return [life, jobsBefore, networkEnforced];
    };
    assert.deepEqual(of({ life: 3, jobsDone: 17, networkEnforced: false }), [3, 17, false]);
    assert.deepEqual(of({ life: 1, jobsDone: 1, networkEnforced: undefined }), [1, 1, null]);
    const { life, jobsBefore, networkEnforced } = load(good);
    assert.deepEqual([life, jobsBefore, networkEnforced], [0, 0, null], 'the first');
  });

  for (const settings of [null, []])
    it(`are an object, not ${JSON.stringify(settings)}`, () =>
      assert.throws(() => load(settings), { problems: ['PY_RUNNER: must be an object'] }));
});
