/** Single controllers of a real kube-controller-manager, for a test API server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { binary, type TestApiServer } from './apiserver.ts';

export interface ControllerManager {
  stop(): Promise<void>;
}

export function startControllers(server: TestApiServer, controllers: string[]): ControllerManager {
  const child = spawn(
    binary('kube-controller-manager'),
    [
      '--kubeconfig',
      server.kubeconfig,
      '--controllers',
      controllers.join(','),
      '--leader-elect=false',
      '--secure-port=0',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let last = '';
  child.stderr.on('data', (chunk: Buffer) => {
    last = (last + chunk.toString()).slice(-4000);
  });
  child.once('exit', (code, signal) => {
    if (code !== 0 && signal === null) console.error(`kube-controller-manager ended with ${code}:\n${last}`);
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  return {
    async stop() {
      process.off('exit', kill);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      kill();
      await ended;
    },
  };
}
