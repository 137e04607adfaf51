/** Libraries that start ffprobe and are published with their tests: how to get and to run these, unchanged. */
import { join } from 'node:path';
import { fetched, npmInstall } from './fetched.ts';
import { fetchProgram } from '../debian_program.ts';

export interface Tested {
  name: string;
  /** Whether they make media first, by ffmpeg itself. */
  needsFfmpeg?: boolean;
  /** Null: they cannot be had. */
  command(): { argv: readonly string[]; folder: string } | null;
}

const root = join(import.meta.dirname, '../..');

/** The package in which this library's tests look for the path of ffprobe. */
const STATIC = {
  'ffprobe-static/package.json': '{ "name": "ffprobe-static", "version": "0.0.0" }\n',
  'ffprobe-static/index.js': 'exports.path = process.env.FFPROBE_PATH;\n',
};

const GO = 'gopkg.in/vansante/go-ffprobe.v2';
const GO_FILES = {
  'go.mod': `module own\n\ngo 1.24\n\nrequire ${GO} v2.2.1\n`,
  'go.sum':
    `${GO} v2.2.1 h1:sFV08OT1eZ1yroLCZVClIVd9YySgCh9eGjBWO0oRayI=\n` +
    `${GO} v2.2.1/go.mod h1:qF0AlAjk7Nqzqf3y333Ly+KxN3cKF2JqA3JT5ZheUGE=\n`,
};

export const TESTED: readonly Tested[] = [
  {
    name: 'ffprobe 1.1.2 (Node)',
    command() {
      const folder = fetched({
        name: 'wrappers/ffprobe-1.1.2',
        files: STATIC,
        steps: [
          ['npm', 'pack', '--silent', 'ffprobe@1.1.2'],
          ['tar', 'xzf', 'ffprobe-1.1.2.tgz'],
          npmInstall('JSONStream@1.3.5', 'bl@4.0.4', 'deferential@1.0.0', 'expect.js@0.3.1', './ffprobe-static'),
        ],
        proof: 'node_modules/expect.js/index.js',
      });
      const mocha = join(root, 'node_modules/mocha/bin/mocha.js');
      // Two seconds, mocha's default, are short for a start of Node and a request on a busy machine.
      const argv = [process.execPath, mocha, '--timeout', '60000', 'test/index.js'];
      return folder === null ? null : { argv, folder: join(folder, 'package') };
    },
  },
  {
    name: 'go-ffprobe 2.2.1 (Go)',
    command() {
      const folder = fetched({
        name: 'wrappers/go-ffprobe-2.2.1',
        files: GO_FILES,
        steps: [
          ['go', 'mod', 'download'],
          ['rm', '-rf', 'library'],
          ['sh', '-c', `cp -r --no-preserve=mode "$(go list -m -f '{{.Dir}}' ${GO})" library`],
          ['go', '-C', 'library', 'test', '-c', '-o', 'own.test'],
        ],
        proof: 'library/own.test',
      });
      return folder === null ? null : { argv: ['./own.test', '-test.v'], folder: join(folder, 'library') };
    },
  },
  {
    name: 'python-ffmpeg 2.0.12 (Python)',
    needsFfmpeg: true,
    command() {
      const folder = fetched({
        name: 'wrappers/python-ffmpeg-2.0.12',
        steps: [
          ['python3', '-m', 'venv', '.'],
          ['bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'pytest==9.2.0', 'pytest-asyncio==1.5.0'],
          ['bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'python-ffmpeg==2.0.12'],
          ['bin/pip', 'download', '--quiet', '--no-deps', '--no-binary', ':all:', 'python-ffmpeg==2.0.12'],
          ['tar', 'xzf', 'python_ffmpeg-2.0.12.tar.gz'],
        ],
        proof: 'python_ffmpeg-2.0.12/tests/helpers.py',
      });
      // Those of its tests that probe what they have made.
      const files = ['pipe', 'transcoding', 'asyncio_pipe', 'asyncio_transcoding'].map((name) => `test_${name}.py`);
      return folder === null
        ? null
        : { argv: [join(folder, 'bin/pytest'), '-q', ...files], folder: join(folder, 'python_ffmpeg-2.0.12/tests') };
    },
  },
];

/** ffmpeg of Debian: its folders for `PATH` and for libraries. Null, with the reason printed: it cannot be had. */
export async function fetchFfmpeg(): Promise<{ path: string; libraries: string } | null> {
  try {
    const folder = await fetchProgram({ name: 'ffmpeg', program: 'usr/bin/ffmpeg' });
    const libraries = ['', '/pulseaudio', '/blas', '/lapack'].map((place) =>
      join(folder, `usr/lib/x86_64-linux-gnu${place}`),
    );
    return { path: join(folder, 'usr/bin'), libraries: libraries.join(':') };
  } catch (error) {
    console.log(`        skipped: ffmpeg cannot be had: ${(error as Error).message}`);
    return null;
  }
}
