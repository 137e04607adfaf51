/** Where a runner reads an uploaded file, and with which key. Sealed into the job like an address with credentials. */
import { isIP } from 'node:net';

export interface UploadPlace {
  /** The IP address of the API pod that holds the file. */
  host: string;
  port: number;
  id: string;
  /** Of this one file, in base64url: it encrypts, and the right to read is derived from it. */
  key: string;
  size: number;
}

const isCount = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

export function isUploadPlace(value: unknown): value is UploadPlace {
  if (typeof value !== 'object' || value === null) return false;
  const { host, port, id, key, size } = value as Record<string, unknown>;
  return (
    typeof host === 'string' &&
    isIP(host) !== 0 &&
    isCount(port, 1, 65_535) &&
    typeof id === 'string' &&
    /^[0-9a-f]{32}$/.test(id) &&
    typeof key === 'string' &&
    /^[\w-]{43}$/.test(key) &&
    isCount(size, 1, Number.MAX_SAFE_INTEGER)
  );
}
