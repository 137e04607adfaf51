/** An installation's keys, and bytes of a backup that a test makes by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { encrypted } from '../../src/service/backup/age.ts';
import { archived, type Member } from '../../src/service/backup/content.ts';
import { type Bytes, through } from '../../src/service/backup/bytes.ts';
import type { Keys } from '../../src/service/backup/keys.ts';
import { admin, boxKeys, natsAuth, sealKeys } from '../../src/service/setup/secrets.ts';

export async function newKeys(): Promise<Keys> {
  const seal = await sealKeys();
  const box = boxKeys();
  return {
    box,
    sealPrivate: seal.private,
    sealPublic: seal.public,
    natsAuth: natsAuth(),
    admin: admin('admin@example.org', box),
  };
}

/** The command line of age. It needs no other package. */
export const AGE = { name: 'age', program: 'usr/bin/age', isAlone: true };

export const packed = (members: AsyncIterable<Member>, recipient: string): Bytes =>
  encrypted(through(archived(members), createGzip()), [recipient]);

export async function allOf(bytes: Bytes): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

export function scratch(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'probeyard-backup-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
