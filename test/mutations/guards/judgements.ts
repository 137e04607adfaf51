/** What the HLS validator, the C2PA check and the report hold. */
import type { Mutation } from '../mutation.ts';

const BAD = 'test/hls/bad_input.test.ts';
const RULES = 'test/hls/rules.test.ts';
const REPORT = 'test/report/report.test.ts';
const MODEL = 'test/report/model.test.ts';
const WORDS = 'test/report/normalise.test.ts';

export const judgements: readonly Mutation[] = [
  { guard: 'of a playlist only so many lines are read', file: 'src/hls/parse.ts', from: 'if (line >= mostLines) {', to: 'if (false) {', test: BAD, grep: '1,300,000 lines' },
  { guard: 'of a playlist only so many bytes are read', file: 'src/hls/origin.ts', from: 'if (length > most) break;', to: '', test: BAD, grep: 'that never ends' },
  { guard: 'variables made of variables do not grow without end', file: 'src/hls/parse.ts', from: 'const MOST_EXPANDED = { each: 65_536, all: 32 << 20 };', to: 'const MOST_EXPANDED = { each: Infinity, all: Infinity };', test: BAD, grep: 'what is no good playlist' },
  { guard: 'only so many media playlists of one presentation are read', file: 'src/hls/validate.ts', from: '[...wanted].slice(0, base.limits.playlists)', to: '[...wanted]', test: BAD, grep: 'of hundreds of media playlists' },
  { guard: 'a playlist that names itself is followed once', file: 'src/hls/validate.ts', from: "else if (loaded.playlist.kind === 'multivariant') base.findings.in(main.url)('playlist-nested', line, loaded.playlist.url);", to: '', test: BAD, grep: 'names itself' },
  { guard: 'one fault a million times is told ten times', file: 'src/hls/findings.ts', from: 'if (known.count > MOST_EACH) {', to: 'if (false) {', test: BAD, grep: 'told ten times' },
  { guard: 'measuring stops at its limit of bytes', file: 'src/hls/measure.ts', from: 'if (budget.bytes <= 0 || signal.aborted', to: 'if (signal.aborted', test: 'test/hls/measure.test.ts' },
  { guard: 'a report shows no secret of an address', file: 'src/hls/load.ts', from: '}=REDACTED` :', to: "}=${pair.slice(pair.indexOf('=') + 1)}` :", test: BAD, grep: 'no secret of an address' },
  { guard: 'rule: no segment is longer than the target duration', file: 'src/hls/rules/media.ts', from: 'roundedTo(segment.duration) > target && target > 0', to: 'false', test: RULES, grep: 'is found where it is broken' },
  { guard: 'rule: a variant has a bandwidth', file: 'src/hls/grammar.ts', from: 'BANDWIDTH: needed(integer)', to: 'BANDWIDTH: integer', test: RULES, grep: 'is found where it is broken' },
  { guard: 'the validator keeps to the guard of the source proxy', file: 'src/hls/origin.ts', from: "proxied === undefined ? url : `${proxied}x/${url.replace('://', '/')}`", to: 'url', test: 'test/runner/msv.test.ts', grep: 'an address inside the network is not reached' },
  { guard: 'the two tools\' spellings are one: codecs', file: 'src/report/normalise/codec.ts', from: "avc: 'h264', hevc", to: "avc: 'avc', hevc", test: REPORT },
  { guard: 'the two tools\' spellings are one: rates', file: 'src/report/normalise/ratio.ts', from: 'Math.abs(decimal - (up * 1000) / 1001) < 0.0011', to: 'false', test: WORDS },
  { guard: 'what is within its tolerance is no disagreement', file: 'src/report/tolerances.ts', from: "'size.display_aspect_ratio': percent(0.5),", to: "'size.display_aspect_ratio': exact,", test: REPORT, grep: 'is no disagreement' },
  { guard: 'what is beyond its tolerance is one', file: 'src/report/tolerances.ts', from: 'frame_rate: percent(0.05),', to: 'frame_rate: percent(5),', test: REPORT, grep: 'a disagreement' },
  { guard: 'streams are matched by what they are', file: 'src/report/match.ts', from: 'score: likeness(one, other) });', to: 'score: one.stream.order === other.stream.order ? 1 : 0 });', test: REPORT, grep: 'matches streams by what they are' },
  { guard: 'streams of two kinds are never a pair', file: 'src/report/match.ts', from: 'if (one.stream.type === other.stream.type) candidates.push', to: 'candidates.push', test: 'test/report/match.test.ts' },
  { guard: 'prefer wins every field that both have', file: 'src/report/judge.ts', from: 'if (prefer !== null) return', to: 'if (false) return', test: REPORT, grep: 'prefer wins' },
  { guard: 'one tool alone is told', file: 'src/report/report.ts', from: '...singleSource(ffprobe, mediainfo, input),', to: '', test: REPORT, grep: 'of one tool alone' },
  { guard: 'the model answers as its trainer did: its base', file: 'src/report/weights.json', from: '"ffprobe":{"base":', to: '"ffprobe":{"base":0.1,"was":', test: MODEL },
  { guard: 'the model answers as its trainer did: its leaves', file: 'src/report/trees.ts', from: 'sum += value[at]!;', to: 'sum += value[at]! / 2;', test: MODEL },
  { guard: 'the model answers as its trainer did: one word', file: 'src/report/weights.json', from: '"codec=h264"', to: '"codec=h265"', test: MODEL },
  { guard: 'the model\'s confidence is calibrated', file: 'src/report/trees.ts', from: 'Math.exp(-sum / temperature)', to: 'Math.exp(-sum)', test: MODEL },
  { guard: 'weights that were trained on other numbers are refused', file: 'src/report/trees.ts', from: "if (weights.numbers.join() !== NUMBERS.join()) throw", to: 'if (false) throw', test: MODEL },
  { guard: 'of two values at most one is right', file: 'src/report/judge.ts', from: 'const sum = Math.max(1, model.ffprobe + model.mediainfo);', to: 'const sum = 1;', test: MODEL },
  { guard: 'any JSON leads to a report, never to a throw', file: 'src/report/json.ts', from: "typeof value === 'object' && value !== null && !Array.isArray(value) ?", to: 'true ?', test: 'test/report/fuzz.test.ts' },
  { guard: 'a rule by hand', file: 'src/report/rules.ts', from: "'codec.profile': [always('mediainfo'", to: "'codec.profile': [always('ffprobe'", test: MODEL, grep: 'the rules by hand' },
  { guard: 'the report costs what it ran for itself, and nothing else', file: 'src/envelope/assemble.ts', from: 'if (hidden.length === 0) return report;', to: 'if (hidden.length >= 0) return report;', test: 'test/envelope/report.test.ts' },
  { guard: 'a file that broke off gets no verdict', file: 'images/tools/c2pa/src/main.rs', from: '    if let Some(text) = broken() {\n        return Err(text);\n    }\n', to: '', test: 'test/c2pa/source.test.ts', grep: 'broke off', build: 'images/cargo_build.ts' },
  { guard: 'the check looks up no name', file: 'images/tools/c2pa/src/http.rs', from: 'let socket = with_port.parse().map_err(|_| "the address must name an IP address")?;', to: 'let socket = std::net::ToSocketAddrs::to_socket_addrs(&with_port).ok().and_then(|mut found| found.next()).ok_or("the address must name an IP address")?;', test: 'test/c2pa/source.test.ts', grep: 'must be an IP address', build: 'images/cargo_build.ts' },
  { guard: 'the check has a bound on its memory', file: 'images/tools/c2pa/src/memory.rs', from: 'saturating_add(bytes) > MOST {', to: 'saturating_add(bytes) > MOST * 64 {', test: 'test/c2pa/hostile.test.ts', grep: 'ends with a word', build: 'images/cargo_build.ts' },
];
