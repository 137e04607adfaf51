/** Libraries that start ffprobe, each with a program that calls it as its documentation does. */
import { join } from 'node:path';
import { fetched, npmInstall } from './fetched.ts';

export interface Wrapper {
  name: string;
  /** Prints what the library says of a file or address, as JSON. Null: the library cannot be had. */
  command(): readonly string[] | null;
}

const NODE = `const ffmpeg = require('fluent-ffmpeg');
ffmpeg.ffprobe(process.argv[2], (error, metadata) => {
  if (error) throw error;
  console.log(JSON.stringify(metadata));
});
`;
const NODE_STREAM = `const ffmpeg = require('fluent-ffmpeg');
ffmpeg(require('node:fs').createReadStream(process.argv[2])).ffprobe((error, metadata) => {
  if (error) throw error;
  console.log(JSON.stringify(metadata));
});
`;
const PYTHON = `import json, sys
import ffmpeg
print(json.dumps(ffmpeg.probe(sys.argv[1])))
`;
const GO = `package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/vansante/go-ffprobe"
)

func main() {
	data, err := ffprobe.GetProbeData(os.Args[1], time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(data)
}
`;
const GO_MODULE = `module wrappers

go 1.24

require github.com/vansante/go-ffprobe v1.1.0
`;
const GO_SUM = `github.com/vansante/go-ffprobe v1.1.0 h1:Tz5X+38tF8YYEFVz+PUTrtvlED35IorB7XI0USOqZWU=
github.com/vansante/go-ffprobe v1.1.0/go.mod h1:AEIxsTWYTTeXpel90yu5J/QxuDWNaKCO50xRBN4rdac=
`;

const ofNode = (file: string) => (): string[] | null => {
  const folder = fetched({
    name: 'wrappers/fluent-ffmpeg-2.1.3',
    files: { 'file.js': NODE, 'stream.js': NODE_STREAM },
    steps: [npmInstall('fluent-ffmpeg@2.1.3')],
    proof: 'node_modules/fluent-ffmpeg/index.js',
  });
  return folder === null ? null : [process.execPath, join(folder, file)];
};

export const WRAPPERS: readonly Wrapper[] = [
  { name: 'fluent-ffmpeg 2.1.3', command: ofNode('file.js') },
  {
    name: 'ffmpeg-python 0.2.0',
    command() {
      const folder = fetched({
        name: 'wrappers/ffmpeg-python-0.2.0',
        files: { 'probe.py': PYTHON },
        steps: [
          ['python3', '-m', 'venv', '.'],
          ['bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'ffmpeg-python==0.2.0'],
          ['cp', 'probe.py', 'ready.py'],
        ],
        proof: 'ready.py',
      });
      return folder === null ? null : [join(folder, 'bin/python'), join(folder, 'probe.py')];
    },
  },
  {
    name: 'go-ffprobe 1.1.0',
    command() {
      const folder = fetched({
        name: 'wrappers/go-ffprobe-1.1.0',
        files: { 'main.go': GO, 'go.mod': GO_MODULE, 'go.sum': GO_SUM },
        steps: [['go', 'build', '-o', 'probe', '.']],
        proof: 'probe',
      });
      return folder === null ? null : [join(folder, 'probe')];
    },
  },
];
/** A library that passes a stream on to stdin. */
export const STREAMING: Wrapper = { name: 'fluent-ffmpeg 2.1.3, of a stream', command: ofNode('stream.js') };
