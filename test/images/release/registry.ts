/** A registry on 127.0.0.1 for a release, which the release's own script fills. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { run } from '../../../images/command.ts';
import { fetchProgram } from '../../debian_program.ts';
import { freePort } from '../../free_port.ts';
import { buildParts } from '../../node/build.ts';
import { onPath } from '../../node/packages.ts';
import { daemon } from '../../server_process.ts';

export interface ReleaseRegistry {
  /** `127.0.0.1:port`. */
  host: string;
  /** Of the release, as in its names. */
  version: string;
  stop(): Promise<void>;
}

/** A folder with skopeo, which is fetched into the cache if this machine lacks it. */
export const skopeoFolder = async (): Promise<string | undefined> =>
  onPath('skopeo') ? undefined : join(await fetchProgram({ name: 'skopeo', program: 'usr/bin/skopeo' }), 'usr/bin');

/** Checks the checksums of the release, starts a registry, and copies the release to it. */
export async function startReleaseRegistry(release: string, skopeo: string | undefined): Promise<ReleaseRegistry> {
  await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release });
  console.log('the checksums hold');
  const program = join((await buildParts(['registry'])).get('registry') ?? '', 'registry');
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-registry-'));
  const host = `127.0.0.1:${await freePort()}`;
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: host },
    log: { level: 'error', accesslog: { disabled: true } },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const registry = daemon(program, ['serve', join(folder, 'config.json')], {}, async () =>
    assert.equal((await fetch(`http://${host}/v2/`)).status, 200),
  );
  const stop = async (): Promise<void> => {
    await registry.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await registry.start();
    await run(join(release, 'mirror.sh'), [host], {
      env: {
        PATH: [...(skopeo === undefined ? [] : [skopeo]), process.env['PATH']].join(delimiter),
        ...(skopeo === undefined ? {} : { LD_LIBRARY_PATH: join(skopeo, '../lib/x86_64-linux-gnu') }),
        SKOPEO_OPTIONS: `--dest-tls-verify=false${skopeo === undefined ? '' : ' --insecure-policy'}`,
      },
      timeoutMs: 1_800_000,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  console.log('the registry has it');
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    version: string;
  };
  return { host, version, stop };
}
