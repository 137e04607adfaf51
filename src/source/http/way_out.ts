/** How API and controllers reach other hosts: as runners reach origins. */
import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '../../base/config.ts';

type Settings = Pick<Config<'api' | 'controller'>, 'egressProxy' | 'noProxy' | 'egressResolve' | 'sourceCaFile'>;

/** The operator's CA file may appear later than this pod. */
export const wayOut = ({ egressProxy, noProxy, egressResolve, sourceCaFile }: Settings) => ({
  egress: egressProxy === '' ? undefined : { url: egressProxy, noProxy, resolve: egressResolve },
  ca: sourceCaFile !== '' && existsSync(sourceCaFile) ? readFileSync(sourceCaFile, 'utf8') : undefined,
});
