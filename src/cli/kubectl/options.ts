/** Options of several commands, apart from what runs kubectl: every start reads them. */
import type { Option } from '../command.ts';

export const PLACE: readonly Option[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: 'namespace of the release; default: probeyard' },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig' },
  { name: 'kubeconfig', value: 'FILE', help: 'kubeconfig file' },
];

export const TOKEN_SECRET: Option = {
  name: 'token-secret',
  value: 'NAME',
  help: 'Secret whose key token is the API token, unless PROBEYARD_TOKEN is set; default: probeyard-admin',
};
