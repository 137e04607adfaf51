/** 24.06 as 24.06, 4.3.7 as 4.3: enough to tell older from newer. */
export function versionNumber(version: string | undefined): number | undefined {
  const found = /^(\d{1,3})\.(\d{1,3})/.exec(version ?? '');
  return found ? Number(found[1]) + Number(found[2]) / 100 : undefined;
}
