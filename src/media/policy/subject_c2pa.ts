/** The subject `c2pa`: what the check of the file's manifest came to, who signed it, and what is declared about AI. */
import { isObject } from '../../base/is_object.ts';
import { objectOf, type JsonObject } from '../report/json.ts';
import { PolicyError, quoted } from './error.ts';
import { EXHAUSTED, failed, passed, unknown, type Told } from './finding.ts';
import { shown } from './kinds.ts';
import { once, within, type Node, type Place } from './node.ts';
import { globs, only } from './operators.ts';
import type { Run } from './run.ts';

/** `none`: the file has no manifest. */
const STATES = ['trusted', 'valid', 'invalid', 'none'] as const;
type State = (typeof STATES)[number];
/** What signers declare about generative AI. `none`: nothing, which does not mean that none was used. */
const DECLARED = ['generated', 'composite', 'unspecified', 'none'] as const;
type Declared = (typeof DECLARED)[number];

export function c2paNode(members: Readonly<Record<string, unknown>>, { at: place }: Place): Node {
  const at = within(place, 'c2pa');
  const value = members['c2pa'];
  if (!isObject(value) || Object.keys(value).length === 0)
    throw new PolicyError(at, 'must be an object of state, signer and declared-ai');
  only(value, ['state', 'signer', 'declared-ai'], at);
  const { state, signer, 'declared-ai': ai } = value;
  const states = state === undefined ? undefined : wordsOf(STATES, state, within(at, 'state'));
  const signers = signer === undefined ? undefined : globs(signer, false, within(at, 'signer'));
  const declared = ai === undefined ? undefined : wordsOf(DECLARED, ai, within(at, 'declared-ai'));
  const expected = [
    ...(states === undefined ? [] : [`state ${states.join(' or ')}`]),
    ...(signers === undefined ? [] : [`signer ${signers.map(({ text }) => text).join(' or ')}`]),
    ...(declared === undefined ? [] : [`declared AI ${declared.join(' or ')}`]),
  ].join(', ');
  return once({
    text: `C2PA ${expected}`,
    judge({ run }) {
      if (!run.meter.step()) return EXHAUSTED;
      const found = foundIn(run);
      if ('why' in found) return unknown(() => ({ message: found.why, field: 'c2pa', expected }));
      const about = (field: string, actual: string, message: string): Told => ({
        message,
        field: `c2pa.${field}`,
        actual,
        expected,
        from: 'c2pa',
      });
      const wrong = (field: string, actual: string) =>
        failed(1, () => about(field, actual, `the C2PA ${field} is ${actual}; expected ${expected}`));
      if (states !== undefined && !states.includes(found.state)) return wrong('state', found.state);
      const { signedBy } = found;
      if (
        signers !== undefined &&
        !signers.some((glob) => run.meter.step(glob.cost(signedBy ?? '')) && glob.matches(signedBy ?? ''))
      )
        return run.meter.spent ? EXHAUSTED : wrong('signer', shown(signedBy ?? 'none'));
      if (declared !== undefined) {
        const of = declaredIn(found.report);
        if (of === undefined)
          return unknown(() => ({ message: 'the C2PA check says nothing about AI', field: 'c2pa', expected }));
        if (!declared.includes(of)) return wrong('declared-ai', of);
        return passed(() => about('declared-ai', of, `the C2PA declared-ai is ${of}`));
      }
      return passed(() => about('state', found.state, `the C2PA state is ${found.state}`));
    },
  });
}

function wordsOf<T extends string>(known: readonly T[], value: unknown, at: string): T[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > known.length) throw new PolicyError(at, `must be of ${known.join(', ')}`);
  return list.map((one) => {
    const word = known.find((each) => each === String(one).toLowerCase());
    if (word === undefined) throw new PolicyError(at, `${quoted(one)} is not accepted; accepted: ${known.join(', ')}`);
    return word;
  });
}

/** Undefined: the report has no summary, or says what is not known here. */
function declaredIn(report: JsonObject): Declared | undefined {
  const said = objectOf(report['summary'])['declared_ai'];
  return said === null ? 'none' : DECLARED.find((known) => known === said);
}

function foundIn(run: Run): { report: JsonObject; state: State; signedBy: string | undefined } | { why: string } {
  const read = run.read('c2pa');
  if ('why' in read) return { why: 'the C2PA check gave no report' };
  const report = objectOf(read.output);
  const said = report['validation_state'];
  if (said === undefined) return { why: 'the C2PA check could not read the file' };
  const state = said === null ? 'none' : STATES.find((known) => known === String(said).toLowerCase());
  if (state === undefined) return { why: `the C2PA state ${quoted(said)} is unknown` };
  const active = report['active_manifest'];
  const manifest = objectOf(typeof active === 'string' ? objectOf(report['manifests'])[active] : undefined);
  const issuer = objectOf(manifest['signature_info'])['issuer'];
  return { report, state, signedBy: typeof issuer === 'string' ? issuer : undefined };
}
