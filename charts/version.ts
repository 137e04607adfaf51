/** The version of package.json in every other file that names it. */
interface Place {
  file: string;
  /** What stands before the version, and the version itself. */
  pattern: RegExp;
}

const PLACES: readonly Place[] = [
  { file: 'charts/probeyard/Chart.yaml', pattern: /^(version: |appVersion: )(\S+)$/gm },
  { file: 'src/cli/package.json', pattern: /^( {2}"version": ")([^"]+)/gm },
  { file: 'docs/release.md', pattern: /( --version )(\d\S*)/g },
  { file: 'docs/operating/gitops.md', pattern: /^( +version: )(\d\S*)$/gm },
  { file: 'docs/operating/gitops/flux.yaml', pattern: /(ref: \{ tag: )([^ }]+)/g },
  { file: 'docs/operating/gitops/argocd.yaml', pattern: /(targetRevision: )(\S+)/g },
];

export const VERSIONED = PLACES.map(({ file }) => file);

/** The text of a file with this version. Throws where the file does not name one: then its place has changed. */
export function withVersion(file: string, text: string, version: string): string {
  const pattern = PLACES.find((place) => place.file === file)?.pattern;
  if (pattern === undefined || text.search(pattern) < 0) throw new Error(`${file} names no version`);
  return text.replace(pattern, `$1${version}`);
}
