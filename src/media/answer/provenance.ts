/** What C2PA manifests say of a file, and whether they hold. */
import type { C2paReport } from '../../api_types.ts';
import { type Facts, quiet, type Section, status, table } from './section.ts';

type Manifest = C2paReport['manifests'][string];

/** The worst first. */
const OUTCOMES = [
  ['failed', 'failure'],
  ['remark', 'informational'],
  ['passed', 'success'],
] as const;

const STATES: Readonly<Record<string, string>> = {
  Valid: '(the manifest holds, but its signer is not on a list of trust)',
  Trusted: '(the manifest holds, and its signer is trusted)',
};

function manifestFacts(manifest: Manifest): Facts {
  const { signature_info: signature, ingredients = [], assertions = [] } = manifest;
  return {
    facts: [
      ['Title', manifest.title],
      ['Made with', manifest.claim_generator],
      ['Signed by', signature?.issuer],
      ['Certificate of', signature?.common_name],
      ['Time', signature?.time],
      ['Made from', ingredients.map(({ title }) => title ?? 'a file without a title').join(', ')],
      ['Asserts', assertions.map(({ label }) => label).join(', ')],
    ],
  };
}

export function provenance(report: C2paReport): Section {
  const { active_manifest: active, manifests, validation_state: state, validation_results: results, summary } = report;
  const title = 'Provenance (C2PA)';
  if (active === null) {
    const elsewhere = 'It names one that is stored elsewhere, which is never fetched.';
    const why = report.remote_manifest === undefined ? 'Nothing is said of where it comes from.' : elsewhere;
    return { title, parts: [{ nothing: 'The file has no C2PA manifest', why }] };
  }
  const others = Object.entries(manifests).filter(([label]) => label !== active);
  const checks = OUTCOMES.flatMap(([outcome, member]) =>
    (results?.activeManifest?.[member] ?? []).map((check) => ({ ...check, outcome })),
  );
  return {
    title,
    parts: [
      { sentence: [quiet('State:'), status(state ?? 'not validated'), STATES[state ?? '']] },
      ...(manifests[active] ? [manifestFacts(manifests[active])] : []),
      ...(summary?.declared_ai ? [{ facts: [['Declares generative AI', summary.declared_ai] as const] }] : []),
      table({
        caption: 'Checks',
        rows: checks,
        columns: [
          { title: 'Outcome', cell: ({ outcome }) => status(outcome) },
          { title: 'Check', cell: ({ code }) => code },
          { title: 'In words', cell: ({ explanation }) => explanation },
        ],
      }),
      table({
        caption: 'Actions',
        rows: summary?.actions ?? [],
        columns: [
          { title: 'Action', cell: ({ action }) => action },
          { title: 'When', cell: ({ when }) => when },
          { title: 'By', cell: ({ software }) => software },
        ],
      }),
      ...others.map(([label, manifest]) => ({ folded: label, parts: [manifestFacts(manifest)] })),
    ],
  };
}
