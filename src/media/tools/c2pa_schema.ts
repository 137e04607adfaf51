/**
 * The schema of the C2PA report. Its form is that of the c2pa library, whose manifests grow with its versions, so
 * undescribed members may be present.
 */
import Type, { type Static, type TProperties } from 'typebox';
import { eitherOrNull } from '../../base/schema_parts.ts';

const open = <T extends TProperties>(title: string, description: string, properties: T) =>
  Type.Object(properties, { title, description });
const openOrNull = <T extends TProperties>(...given: Parameters<typeof open<T>>) => eitherOrNull(open(...given));
const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const orNull = (description: string, example: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 256, description, examples: [example] });
const texts = <T extends Record<string, readonly [description: string, example: string]>>(members: T) =>
  Object.fromEntries(Object.entries(members).map(([name, said]) => [name, Type.Optional(text(...said))])) as {
    [K in keyof T]: ReturnType<typeof Type.Optional<ReturnType<typeof Type.String>>>;
  };

const LABEL = ['Label of the manifest.', 'urn:c2pa:0b7f2f40-8b5f-4f0a-9c34-5a3f0c1b2d3e'] as const;

const Status = open('C2paStatus', 'The result of one check.', {
  code: text('Code of the specification.', 'claimSignature.validated'),
  ...texts({
    url: ['What was checked.', 'self#jumbf=/c2pa/urn:c2pa:0b7f2f40/c2pa.signature'],
    explanation: ['The result in words.', 'claim signature valid'],
  }),
});
const Statuses = open('C2paStatuses', 'Results of the checks of one manifest.', {
  success: Type.Optional(Type.Array(Status, { description: 'Checks that passed.' })),
  informational: Type.Optional(Type.Array(Status, { description: 'Remarks.' })),
  failure: Type.Optional(Type.Array(Status, { description: 'Checks that failed.' })),
});

const Assertion = open('C2paAssertion', 'What a manifest asserts.', {
  label: text('Label of the assertion.', 'c2pa.actions.v2'),
  data: Type.Optional(Type.Unsafe<unknown>({ description: 'Its content.' })),
});
const INGREDIENT = texts({
  title: ['Title.', 'photo.jpg'],
  format: ['Media type.', 'image/jpeg'],
  relationship: ['How it was used.', 'parentOf'],
  active_manifest: LABEL,
});
const Ingredient = open('C2paIngredient', 'A file that this one was made from.', INGREDIENT);
const SIGNATURE = texts({
  alg: ['Algorithm.', 'Es256'],
  issuer: ['Organization of the certificate.', 'Example Press'],
  common_name: ['Common name of the certificate.', 'Example Press signing'],
  cert_serial_number: ['Serial number of the certificate.', '7131231'],
  time: ['Time of the time stamp.', '2026-03-01T12:00:00+00:00'],
});
const Signature = open('C2paSignature', 'Who signed the manifest.', SIGNATURE);
const Manifest = open('C2paManifest', 'A manifest of the file.', {
  ...texts({
    label: LABEL,
    title: ['Title.', 'photo.jpg'],
    format: ['Media type.', 'image/jpeg'],
    instance_id: ['Id of this version of the file.', 'xmp:iid:3d1f6a2c-8c0e-4f36-a1b2-6f8d1e9c7a55'],
    claim_generator: ['The program that made the claim.', 'Example Editor/1.0'],
  }),
  claim_generator_info: Type.Optional(
    Type.Array(Type.Unsafe<object>({ type: 'object' }), { description: 'The programs that made the claim.' }),
  ),
  assertions: Type.Optional(Type.Array(Assertion, { description: 'What it asserts.' })),
  ingredients: Type.Optional(Type.Array(Ingredient, { description: 'What the file was made from.' })),
  signature_info: Type.Optional(Signature),
});

/** Based on the signer's claims, never on the picture. */
const Summary = open('C2paSummary', 'A summary of the report. Absent in reports of older versions of the check.', {
  state: Type.Unsafe<'Invalid' | 'Valid' | 'Trusted' | 'none'>({
    type: 'string',
    enum: ['Invalid', 'Valid', 'Trusted', 'none'],
    description: 'validation_state, or none if there is no manifest.',
  }),
  signer: openOrNull('C2paSigner', 'Who signed the active manifest.', {
    common_name: orNull('Common name of the signing certificate.', 'Example Press signing'),
    organization: orNull('Organization of the signing certificate.', 'Example Press'),
  }),
  declared_ai: Type.Unsafe<'generated' | 'composite' | 'unspecified' | null>({
    type: ['string', 'null'],
    enum: ['generated', 'composite', 'unspecified', null],
    description:
      'What signers of the active manifest and of its ingredients declare about generative AI: the whole is ' +
      '`generated`, it is a `composite` with generated parts, or it was used in an `unspecified` way. Null if ' +
      'nothing is declared, which does not mean that none was used.',
  }),
  actions: Type.Array(
    open('C2paAction', 'An action of the active manifest.', {
      action: orNull('Name of the action.', 'c2pa.edited'),
      when: orNull('When it was done, as the signer says.', '2026-03-01T12:00:00Z'),
      software: orNull('The program that did it.', 'Example Editor'),
      source_type: orNull('Digital source type of the IPTC, without its address.', 'trainedAlgorithmicMedia'),
    }),
    { maxItems: 64, description: 'The first 64 actions of the active manifest.' },
  ),
});

export const C2paReportSchema = open('C2paReport', 'What the C2PA manifests of a file say, and whether they hold.', {
  active_manifest: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Label of the active manifest; null if the file has none.',
    examples: [LABEL[1]],
  }),
  manifests: Type.Unsafe<Record<string, Static<typeof Manifest>>>({
    type: 'object',
    description: 'All manifests of the file, by label.',
    additionalProperties: Manifest,
  }),
  validation_state: Type.Unsafe<'Invalid' | 'Valid' | 'Trusted' | null>({
    type: ['string', 'null'],
    enum: ['Invalid', 'Valid', 'Trusted', null],
    description: 'Trusted: valid, and the signer is known. Null if there is no manifest.',
  }),
  validation_results: openOrNull('C2paResults', 'Results of the checks.', {
    activeManifest: Type.Optional(Statuses),
    ingredientDeltas: Type.Optional(
      Type.Array(Type.Unsafe<object>({ type: 'object' }), {
        description: 'What the checks of the ingredients found in addition.',
      }),
    ),
  }),
  summary: Type.Optional(Summary),
  remote_manifest: Type.Optional(
    text('Address of a manifest that is stored elsewhere; it is never fetched.', 'https://example.com/photo.c2pa'),
  ),
});

export type C2paReport = Static<typeof C2paReportSchema>;
