/**
 * The role `doctor`: the part of the preflight that runs in a pod. `helm test` starts it, and so does the command
 * `probeyard doctor`. Each place is a pod of another shape.
 */
import { examine, encoded, hasFailed, textOf } from './finding.ts';
import { CHECKS_OF, isPlace, PLACES } from './places.ts';
import { ArgumentError, readSettings } from './settings.ts';

const USAGE = `usage: main.ts doctor PLACE... [options], with a place of: ${PLACES.join(' ')}`;

export async function run(): Promise<void> {
  try {
    const { places, settings } = readSettings(process.argv.slice(3), process.env);
    const unknown = places.find((place) => !isPlace(place));
    if (unknown !== undefined || places.length === 0)
      throw new ArgumentError(`not a place: ${unknown ?? 'none given'}`);
    const findings = [];
    for (const check of places.filter(isPlace).flatMap((place) => CHECKS_OF[place]))
      findings.push(await examine(check, settings));
    process.stdout.write(settings.json ? `${encoded(findings)}\n` : textOf(findings));
    process.exitCode = hasFailed(findings) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    console.error(`${error.message}\n${USAGE}`);
    process.exitCode = 2;
  }
}
