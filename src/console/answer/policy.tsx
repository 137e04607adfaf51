/** The verdict of a policy, to be read and to be handed on. */
import { answered } from '../api/client.ts';
import type { PolicyResult } from '../../api_types.ts';
import { policySection } from '../../media/answer/policy.ts';
import { download } from '../parts/copy.tsx';
import { WorkButton } from '../parts/form.tsx';
import { withAnyToken } from '../parts/with_token.tsx';
import { AnswerParts } from './section.tsx';

const FORMATS = [
  ['junit', 'JUnit', 'xml'],
  ['sarif', 'SARIF', 'sarif'],
] as const;

/** As CI systems read it. Only a token of the user who made the request gets it. */
const Downloads = ({ id }: { id: string }) => (
  <p class="actions">
    {FORMATS.map(([format, name, extension]) => (
      <WorkButton
        key={format}
        work={async () => {
          const given = { params: { id }, query: { format } };
          const response = await withAnyToken((bearer) => answered('GET /v1/probe/:id/policy', { ...given, bearer }));
          download(`${id}.${extension}`, await response.blob());
        }}
      >
        {`Download as ${name}`}
      </WorkButton>
    ))}
  </p>
);

export const Policy = ({ verdict, id }: { verdict: PolicyResult; id: string }) => (
  <>
    <Downloads id={id} />
    <AnswerParts parts={policySection(verdict).parts} />
  </>
);
