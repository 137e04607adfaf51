/** What C2PA manifests say of a file, and whether they hold. Thumbnails are not shown. */
import type { C2paReport } from '../../api_types.ts';
import { statusColumn, strangerColumn, Facts, Table, type Column } from '../parts/table.tsx';
import { Empty } from '../parts/states.tsx';
import { Status, Stranger } from '../parts/values.tsx';

type Manifest = C2paReport['manifests'][string];

/** The worst first. */
const OUTCOMES = [
  ['failed', 'failure'],
  ['remark', 'informational'],
  ['passed', 'success'],
] as const;

const checksOf = ({ validation_results: results }: C2paReport) =>
  OUTCOMES.flatMap(([outcome, member]) =>
    (results?.activeManifest?.[member] ?? []).map((check) => ({ ...check, outcome })),
  );

const CHECKS: readonly Column<ReturnType<typeof checksOf>[number]>[] = [
  statusColumn('Outcome', ({ outcome }) => outcome),
  strangerColumn('Check', ({ code }) => code),
  strangerColumn('In words', ({ explanation }) => explanation),
];

function ManifestFacts({ manifest }: { manifest: Manifest }) {
  const { signature_info: signature, ingredients = [], assertions = [] } = manifest;
  const facts = [
    ['Title', manifest.title],
    ['Made with', manifest.claim_generator],
    ['Signed by', signature?.issuer],
    ['Certificate of', signature?.common_name],
    ['Time', signature?.time],
    ['Made from', ingredients.map(({ title }) => title ?? 'a file without a title').join(', ')],
    ['Asserts', assertions.map(({ label }) => label).join(', ')],
  ] as const;
  return <Facts facts={facts} />;
}

export function Provenance({ report }: { report: C2paReport }) {
  const { active_manifest: active, manifests, validation_state: state } = report;
  if (active === null)
    return (
      <Empty title="The file has no C2PA manifest">
        <p>
          {report.remote_manifest === undefined
            ? 'Nothing is said of where it comes from.'
            : 'It names one that is stored elsewhere, which is never fetched.'}
        </p>
      </Empty>
    );
  const others = Object.entries(manifests).filter(([label]) => label !== active);
  return (
    <>
      <p class="lead">
        <Status of={state ?? 'not validated'} />
        {state === 'Valid' && ': the manifest holds, but its signer is not on a list of trust.'}
        {state === 'Trusted' && ': the manifest holds, and its signer is trusted.'}
      </p>
      {manifests[active] && <ManifestFacts manifest={manifests[active]} />}
      <Table
        caption="Checks"
        columns={CHECKS}
        rows={checksOf(report)}
        keyOf={({ outcome, code, explanation }) => `${outcome} ${code} ${explanation}`}
      />
      {others.map(([label, manifest]) => (
        <details key={label}>
          <summary>
            <Stranger text={label} />
          </summary>
          <ManifestFacts manifest={manifest} />
        </details>
      ))}
    </>
  );
}
