/** What a file is, and whether it is fine, each in one line: pure. */
import { fileSentence } from '../../media/answer/file_words.ts';
import { hlsLead } from '../../media/answer/hls.ts';
import { textIn } from '../../media/answer/section.ts';
import {
  comparisonSignal,
  contentSignals,
  disagreementSignals,
  hlsSignals,
  policySignal,
  provenanceSignal,
  type Signal,
  warningSignal,
} from '../../media/answer/signals.ts';
import { several } from '../parts/figures.ts';
import type { Facts, Reports } from '../worker/protocol.ts';

/** Undefined: nothing that was made of it says what it is. */
export function whatItIs({ report, hls }: Reports): string | undefined {
  if (report) return fileSentence(report);
  return hls ? textIn(hlsLead(hls).sentence) : undefined;
}

/** With the tab that shows it in full. */
type SignalOfTab = Signal & { tab: string };

export function signalsOf({ report, hls, c2pa, qc, waived, policy, comparison }: Reports): SignalOfTab[] {
  const byTab: Readonly<Record<string, readonly Signal[]>> = {
    policy: policy ? [policySignal(policy)] : [],
    disagreements: report ? disagreementSignals(report) : [],
    overview: report ? [warningSignal(report)] : [],
    ladder: hls ? hlsSignals(hls) : [],
    provenance: c2pa ? [provenanceSignal(c2pa)] : [],
    content: qc ? contentSignals(qc, waived?.length ?? 0) : [],
    versions: comparison ? [comparisonSignal(comparison)] : [],
  };
  return Object.entries(byTab).flatMap(([tab, signals]) => signals.map((signal) => ({ ...signal, tab })));
}

/** The worst decides. What nobody looked at is not called fine. */
export function verdictOf(
  { status, 'tool-errors': errors }: Pick<Facts, 'status' | 'tool-errors'>,
  signals: readonly Signal[],
): Signal {
  const bad = signals.find(({ tone }) => tone === 'bad');
  const open = signals.filter(({ tone }) => tone === 'warn').length;
  if (status === 'error') return { tone: 'bad', text: 'Failed' };
  if (bad) return { tone: 'bad', text: 'Not fine' };
  if (status === 'with-errors' || Object.keys(errors).length > 0) return { tone: 'warn', text: 'Some of it failed' };
  if (open > 0) return { tone: 'warn', text: `${several(open, 'thing')} to look at` };
  return signals.some(({ tone }) => tone === 'good')
    ? { tone: 'good', text: 'Fine' }
    : { tone: 'none', text: 'Not judged' };
}
