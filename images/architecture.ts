/** The architectures that images are made for, and what differs between them. */
export const ARCHITECTURES = {
  amd64: { loader: 'ld-linux-x86-64.so.2', loaderFolder: 'lib64', triple: 'x86_64-linux-gnu', node: 'x64' },
  arm64: { loader: 'ld-linux-aarch64.so.1', loaderFolder: 'lib', triple: 'aarch64-linux-gnu', node: 'arm64' },
} as const;

export type Architecture = keyof typeof ARCHITECTURES;

export const isArchitecture = (name: string): name is Architecture => Object.hasOwn(ARCHITECTURES, name);

/** What the local node runs, and what everything is made for that names no other. */
export const USUAL: Architecture = 'amd64';

/** Added to names and keys, so that those of the usual one stay as they are. */
export const suffixOf = (arch: Architecture): string => (arch === USUAL ? '' : `-${arch}`);
