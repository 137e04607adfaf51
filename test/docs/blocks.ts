/**
 * The code blocks of a page. A first line `# not run: reason` says why one cannot run, `# receiver` that it is a server
 * for webhooks. A comment behind the block says what it prints.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCS } from '../../docs/site/pages.ts';

export interface Block {
  page: string;
  /** The heading above it. */
  title: string;
  language: string;
  code: string;
  prints: RegExp | undefined;
  notRun: string | undefined;
  isReceiver: boolean;
}

const PART = /^#{1,4} (.+)$|^```([a-z]*)\n([\s\S]*?)^```$(?:\n+<!-- prints: (.+) -->)?/gm;

export function blocksOf(page: string): Block[] {
  let title = '';
  return [...readFileSync(join(DOCS, page), 'utf8').matchAll(PART)].flatMap(
    ([, heading, language, code, prints]): Block[] => {
      if (heading !== undefined) {
        title = heading;
        return [];
      }
      return [
        {
          page,
          title,
          language: language!,
          code: code!,
          prints: prints === undefined ? undefined : new RegExp(prints, 's'),
          notRun: /^(?:#|\/\/) not run(?: here)?: (.+)$/m.exec(code!)?.[1],
          isReceiver: /^(?:<\?php\n)?(?:#|\/\/) receiver$/m.test(code!),
        },
      ];
    },
  );
}
