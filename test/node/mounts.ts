import { readFileSync } from 'node:fs';
import { attempt } from './command.ts';

/** Mount points from /proc/self/mountinfo, in mount order. */
export function mountPoints(mountinfo: string): string[] {
  const points: string[] = [];
  for (const line of mountinfo.split('\n')) {
    const point = line.split(' ')[4];
    // The kernel writes a space as \040.
    if (point !== undefined)
      points.push(point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))));
  }
  return points;
}

export function readMountPoints(): string[] {
  return mountPoints(readFileSync('/proc/self/mountinfo', 'utf8'));
}

export function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** Unmounts everything below the folders, in reverse mount order, and detaches what is still busy. */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  const points = readMountPoints()
    .filter((point) => isBelow(point, folders))
    .toReversed();
  for (const point of points) {
    const result = await attempt('umount', [point]);
    if (result.code !== 0) await attempt('umount', ['--lazy', point]);
  }
}
