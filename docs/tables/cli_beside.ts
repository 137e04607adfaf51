/** What `docs/cli.md` says of the command line beside others. */

/** Held by test/cli/wrappers.test.ts. */
const LIBRARIES = `## Libraries that start ffprobe

A library finds \`probeyard\` under the name ffprobe by \`FFPROBE_PATH\`, or first in \`PATH\`. A test runs these with
both programs, on a file and on an address, and compares what they return:

| library | how it finds ffprobe |
| --- | --- |
| fluent-ffmpeg 2.1.3 (Node), of files, addresses and streams | \`FFPROBE_PATH\` |
| ffmpeg-python 0.2.0 (Python) | \`PATH\`, or \`cmd\` |
| go-ffprobe 1.1.0 (Go) | \`PATH\`, or \`SetFFProbeBinPath\` |

Of three others their own tests run, unchanged, with \`probeyard\` in the place of ffprobe (\`test/cli/own_tests.ts\`),
and pass: ffprobe 1.1.2 (Node), go-ffprobe 2.2.1 (Go, another library of that name), python-ffmpeg 2.0.12 (Python).

What is different:

- A stream on stdin is sent as a whole: \`size\` and \`bit_rate\` are there, which ffprobe does not know of a pipe.
- A stream has the name \`fd:\`, as in ffprobe 7.0 and later; older versions call it \`pipe:\`.
- stderr has the error of the service, or, of a line that prints nothing else, ffprobe's summary; no progress.
- A call takes as long as the start of Node, the sending and the queue: a limit of half a second is too short.
- \`-version\` prints the first line that the tool prints; \`-formats\` and other questions are refused by name.
`;

const OTHERS = `## Beside other command lines

From the documentation of each. They solve other problems: this is what a caller may expect of a command line.

| | ffprobe | mediainfo | aws | gh | kubectl | probeyard |
| --- | --- | --- | --- | --- | --- | --- |
| installs without a runtime | yes | yes | yes | yes | yes | no: Node 20 or later; in one file |
| table for people | no | yes | yes | yes | yes | yes |
| JSON | yes | yes | yes | yes | yes | yes |
| YAML | no | no | yes | no | yes | yes |
| CSV, XML, the tool's own formats | yes | yes | no | no | no | yes, \`-o raw\` |
| JUnit, SARIF, annotations | no | no | no | no | no | yes |
| query or template for output | \`-show_entries\` | \`--Inform\` | \`--query\` | \`--jq\` | \`jsonpath\` | no: \`jq\` |
| exit code that judges | no | no | no | no | \`diff\` | \`check\`, \`hls\`, \`c2pa\`, \`qc\`, \`diff\` |
| completion for bash, zsh and fish | no | no | yes | yes | yes | yes |
| keeps a login | - | - | yes | yes | yes | yes |
| several logins by name | - | - | yes | yes | yes | no: variables |
| token in the keychain of the system | - | - | no | yes | by a plugin | no: a file that only you can read |
| plugins | no | no | no | yes | yes | no; is one of kubectl |
| help with examples for every command | no | no | yes | yes | yes | yes |
| Ctrl-C ends the work on the server | - | - | no | no | no | yes |
`;

export const beside = (): string[] => [...LIBRARIES.split('\n'), ...OTHERS.split('\n')];
