import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const PAGES = ['*.md', 'docs/**/*.md', '.github/**/*.md', 'src/**/*.md'];
const pages = PAGES.flatMap((pattern) => globSync(pattern, { cwd: root }));

/** Files and folders of the repository in prose and code blocks. */
const PATH = /(?<![\w./-])(?:src|test|bench|images|charts|docs)\/[\w./-]*\w/g;
/** Links to files, excluding other sites and anchors of the same page. */
const LINK = /\]\((?!https?:|mailto:|#)([^)#]+)(?:#([^)]+))?\)/g;

/** The command line is in no registry, and no repository has an action: whoever takes the name would get tokens. */
const NOT_OURS = [
  /\b(?:npm|pnpm|yarn|bun) (?:i|install|add|exec)\b(?: -\S+| global)* ["']?(?:probeyard|@probeyard)\b.*/g,
  /\b(?:npx|bunx|dlx)(?: -\S+)* (?:probeyard|@probeyard)\b.*/g,
  /\buses: +probeyard\/.*/g,
];

/** The anchor that common repository hosts generate. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function hasAnchor(page: string, anchor: string): boolean {
  const text = readFileSync(page, 'utf8');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
  return headings.includes(anchor) || text.includes(`<a id="${anchor}">`);
}

describe('documentation', () => {
  for (const page of pages) {
    it(`${page}: every file that it names or links to exists`, () => {
      const text = readFileSync(join(root, page), 'utf8');
      const named = [...text.matchAll(PATH)].map(([path]) => path).filter((path) => !existsSync(join(root, path)));
      const links = [...text.replaceAll(/`[^`\n]*`/g, '').matchAll(LINK)].flatMap(([, path, anchor]) => {
        const target = join(root, dirname(page), path!);
        if (!existsSync(target)) return [path!];
        return anchor !== undefined && !hasAnchor(target, anchor) ? [`${path}#${anchor}`] : [];
      });
      assert.deepEqual([...new Set([...named, ...links])], []);
    });

    it(`${page}: names no package of a registry and no action as ours`, () => {
      const text = readFileSync(join(root, page), 'utf8');
      assert.deepEqual(
        NOT_OURS.flatMap((form) => text.match(form) ?? []),
        [],
      );
    });
  }
});
