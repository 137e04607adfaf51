import { createHash } from 'node:crypto';
import type { Part } from './parts.ts';

export interface Toolchain {
  /** `go env GOVERSION`, and the version line of the C compiler, because another compiler makes another program. */
  go: string;
  cc: string;
  arch: string;
}

export interface SourceFile {
  path: string;
  content: string | Uint8Array;
}

/** The cache key of a build. It changes exactly when an input of the programs changes. */
export function buildKey(part: Part, toolchain: Toolchain, files: readonly SourceFile[]): string {
  const { name, programs, tags = '', ldflags = '', cgo = false } = part;
  const usesGo = files.some((file) => file.path === 'go.mod');
  const hash = createHash('sha256');
  hash.update(JSON.stringify({ name, programs, tags, ldflags, cgo, arch: toolchain.arch }));
  if (usesGo) hash.update(toolchain.go);
  if (cgo || !usesGo) hash.update(toolchain.cc);
  for (const file of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(`\0${file.path}\0${file.content.length}\0`).update(file.content);
  }
  return hash.digest('hex').slice(0, 16);
}
