import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { AGENT_FILE } from '../../images/agent_bundle.ts';
import { buildAgent } from './built_agent.ts';

/** What only other roles need. Schemas alone took a third of the CPU of an agent's start, and 10 MB. */
const OF_OTHERS = /^(?:typebox|ajv|koa|pg|jose|yaml|@kubernetes\/)/;
const packageOf = (file: string): string => /^node_modules\/(.+)/.exec(file)?.[1] ?? '';

describe('agent: its modules', function () {
  this.timeout(60_000);

  it('no package of another role is loaded, because a renewed runner waits for the start of its agent', () => {
    const hook = `import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (${OF_OTHERS}.test(name)) console.log(name, 'by', context.parentURL);
        return next(name, context);
      } });`;
    const main = JSON.stringify(join(import.meta.dirname, '../../src/service/runner/main.ts'));
    const args = [
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      '--input-type=module',
      '-e',
      `await import(${main}); console.log('end');`,
    ];
    assert.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), 'end\n');
  });

  it('nor is one in the file that the image runs, where one is parsed at each start', async () => {
    const inputs = (await buildAgent()).inputs.get(AGENT_FILE) ?? [];
    assert.ok(
      inputs.includes('src/service/runner/agent.ts') && inputs.some((file) => packageOf(file).startsWith('nats/')),
    );
    assert.deepEqual(
      inputs.filter((file) => OF_OTHERS.test(packageOf(file))),
      [],
    );
  });
});
