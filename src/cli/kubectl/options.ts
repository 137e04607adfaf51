/** Options of several commands, apart from what runs kubectl: every start reads them. */
import type { Option } from '../command.ts';

export const PLACE: readonly Option[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: 'namespace of the release; default: probeyard' },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig' },
  { name: 'kubeconfig', value: 'FILE', help: 'kubeconfig file' },
];

/** Of commands about jobs, which may be in the namespace of a tenant. */
export const JOB_PLACE: readonly Option[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: 'namespace of the job; default: probeyard' },
  { name: 'release-namespace', value: 'NAME', help: 'namespace of the release; default: that of the job' },
  ...PLACE.slice(1),
];

export const TOKEN_SECRET: Option = {
  name: 'token-secret',
  value: 'NAME',
  help: 'Secret whose key token is the API token, unless PROBEYARD_TOKEN is set; default: probeyard-admin',
};
