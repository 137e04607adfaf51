import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** What only other roles need. Schemas alone took a third of the CPU of an agent's start, and 10 MB. */
const OF_OTHERS = /^(?:typebox|ajv|koa|pg|jose|yaml|@kubernetes\/)/;

describe('agent: its modules', function () {
  this.timeout(30_000);

  it('no package of another role is loaded, because a renewed runner waits for the start of its agent', () => {
    const hook = `import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (${OF_OTHERS}.test(name)) console.log(name, 'by', context.parentURL);
        return next(name, context);
      } });`;
    const main = JSON.stringify(join(import.meta.dirname, '../../src/runner/main.ts'));
    const args = [
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      '--input-type=module',
      '-e',
      `await import(${main}); console.log('end');`,
    ];
    assert.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), 'end\n');
  });
});
