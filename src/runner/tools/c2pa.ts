import { C2PA_CONFIG_DIR } from '../../tools/c2pa.ts';
import { lastLine, type Tool } from '../../tools/tool.ts';

export const c2pa: Tool = {
  args: (_options, address) => ['--config', C2PA_CONFIG_DIR, address],
  format: () => 'json',
  verifiesTls: () => true,
  /** A manifest that does not hold is a finding, and a file without one too: both exit with 0. */
  failure({ code, stderr }) {
    return code === 0 ? undefined : (lastLine(stderr) ?? 'c2pa failed without a message');
  },
};
