import type { Page } from 'playwright-core';

/** Until an expression is true in the page. The browser's own wait evaluates text, which our pages' policy forbids. */
export const pageUntil = (page: Page, expression: string): Promise<unknown> =>
  page.evaluate(`new Promise((done, fail) => {
    const end = performance.now() + 30_000;
    const look = () => {
      if (${expression}) done();
      else if (performance.now() > end) fail(new Error('30 s passed'));
      else requestAnimationFrame(look);
    };
    look();
  })`);
