/** The subject `c2pa`: what the check of the file's manifest came to, and who signed it. */
import { objectOf } from '../report/json.ts';
import { PolicyError, quoted } from './error.ts';
import { EXHAUSTED, failed, passed, unknown, type Told } from './finding.ts';
import { shown } from './kinds.ts';
import { once, within, type Node, type Place } from './node.ts';
import { globs, only } from './operators.ts';
import type { Run } from './run.ts';

/** `none`: the file has no manifest. */
const STATES = ['trusted', 'valid', 'invalid', 'none'] as const;
type State = (typeof STATES)[number];

export function c2paNode(members: Readonly<Record<string, unknown>>, { at: place }: Place): Node {
  const at = within(place, 'c2pa');
  const value = members['c2pa'];
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    throw new PolicyError(at, 'must be an object of state and signer');
  only(value, ['state', 'signer'], at);
  const { state, signer } = value as { state?: unknown; signer?: unknown };
  const states = state === undefined ? undefined : statesOf(state, within(at, 'state'));
  const signers = signer === undefined ? undefined : globs(signer, false, within(at, 'signer'));
  const expected = [
    ...(states === undefined ? [] : [`state ${states.join(' or ')}`]),
    ...(signers === undefined ? [] : [`signer ${signers.map(({ text }) => text).join(' or ')}`]),
  ].join(', ');
  return once({
    text: `C2PA ${expected}`,
    judge(run) {
      if (!run.meter.step()) return EXHAUSTED;
      const found = read(run);
      if ('why' in found) return unknown(() => ({ message: found.why, field: 'c2pa', expected }));
      const about = (field: string, actual: string): Told => ({
        message: `the C2PA ${field} is ${actual}; expected ${expected}`,
        field: `c2pa.${field}`,
        actual,
        expected,
        from: 'c2pa',
      });
      if (states !== undefined && !states.includes(found.state)) return failed(1, () => about('state', found.state));
      const { signedBy } = found;
      if (
        signers !== undefined &&
        !signers.some((glob) => run.meter.step(glob.cost(signedBy ?? '')) && glob.matches(signedBy ?? ''))
      )
        return run.meter.spent ? EXHAUSTED : failed(1, () => about('signer', shown(signedBy ?? 'none')));
      return passed(() => ({ ...about('state', found.state), message: `the C2PA state is ${found.state}` }));
    },
  });
}

function statesOf(value: unknown, at: string): State[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > STATES.length) throw new PolicyError(at, `must be of ${STATES.join(', ')}`);
  return list.map((one) => {
    const state = STATES.find((known) => known === String(one).toLowerCase());
    if (state === undefined)
      throw new PolicyError(at, `${quoted(one)} is not accepted; accepted: ${STATES.join(', ')}`);
    return state;
  });
}

function read(run: Run): { state: State; signedBy: string | undefined } | { why: string } {
  if (run.facts.c2pa === undefined) return { why: 'the C2PA check gave no report' };
  const report = objectOf(run.facts.c2pa);
  const said = report['validation_state'];
  if (said === undefined) return { why: 'the C2PA check could not read the file' };
  const state = said === null ? 'none' : STATES.find((known) => known === String(said).toLowerCase());
  if (state === undefined) return { why: `the C2PA state ${quoted(said)} is unknown` };
  const active = report['active_manifest'];
  const manifest = objectOf(typeof active === 'string' ? objectOf(report['manifests'])[active] : undefined);
  const issuer = objectOf(manifest['signature_info'])['issuer'];
  return { state, signedBy: typeof issuer === 'string' ? issuer : undefined };
}
