/**
 * The network links of this process's own namespace. `/sys/class/net` shows those of the namespace in which it was
 * mounted.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';

const LINKS = '/proc/sys/net/ipv4/conf';
const NO_LINKS = ['all', 'default'];

export const hasLink = (name: string): boolean => existsSync(`${LINKS}/${name}`);

export const readLinks = async (): Promise<string[]> =>
  (await readdir(LINKS)).filter((name) => !NO_LINKS.includes(name)).sort();
