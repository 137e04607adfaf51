/** Where a tool may get to, and what it may learn: addresses, redirects, playlists, credentials, sizes. design.md 4, contract 2.5. */
import type { Mutation } from '../mutation.ts';

const GUARD = 'test/source/guard.test.ts';
const PROXY = 'test/source/proxy_guard.test.ts';
const FAILURE = 'test/source/proxy_failure.test.ts';
const CREDENTIALS = 'test/source/proxy_credentials.test.ts';
const READ = 'test/source/proxy_read.test.ts';
const RESOLVER = 'test/source/resolver.test.ts';
const PARAMETERS = 'test/source/parameters.test.ts';
const SEAL = 'test/seal/seal.test.ts';

export const sources: readonly Mutation[] = [
  { guard: 'link-local and metadata addresses are refused', file: 'src/source/ranges.ts', from: "'169.254.0.0/16', ", to: '', test: GUARD },
  { guard: 'carrier-grade addresses are refused', file: 'src/source/ranges.ts', from: "'100.64.0.0/10', ", to: '', test: GUARD },
  { guard: '6to4 is refused', file: 'src/source/ranges.ts', from: "'2001:db8::/32', '2002::/16',", to: "'2001:db8::/32',", test: GUARD },
  { guard: 'an IPv4 address inside an IPv6 one is judged as what it is', file: 'src/source/guard.ts', from: "if (inner?.kind === 'mapped') return check(inner.address, port, host);", to: "if (inner?.kind === 'mapped') return 'ok';", test: GUARD },
  { guard: 'the cluster\'s own ranges are refused even where they are public', file: 'src/source/guard.ts', from: "(isPublic4(address) && !denied.check(address, 'ipv4'))", to: 'isPublic4(address)', test: GUARD },
  { guard: 'an exception by name never opens the machine itself or metadata', file: 'src/source/guard.ts', from: 'return !neverByName.check(address, family);', to: 'return true;', test: GUARD },
  { guard: 'an exception for a port opens that port', file: 'src/source/guard.ts', from: 'if (rule.port !== undefined && rule.port !== port) return false;', to: '', test: GUARD },
  { guard: 'no socket is opened before its address was checked', file: 'src/source/guard.ts', from: "const good = found.filter(({ address }) => check(address, port, bare) === 'ok');", to: 'const good = found;', test: PROXY },
  { guard: 'the address that was checked is the one that is dialled', file: 'src/source/connect.ts', from: '? connect({ host: addresses[0]!.address, port, noDelay: true })', to: '? connect({ host, port, noDelay: true })', test: PROXY, grep: 'connects to the address that it checked' },
  { guard: 'what was reached must be what was checked', file: 'src/source/connect.ts', from: "if (guard.check(socket.remoteAddress ?? '', port, host) !== 'ok') {", to: 'if (false) {', test: 'test/source/connect.test.ts' },
  { guard: 'a redirect leads to http and https alone', file: 'src/source/target.ts', from: "if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;", to: '', test: PROXY, grep: 'does not follow a redirect to' },
  { guard: 'redirects are followed ten times', file: 'src/source/exchange.ts', from: 'const mostRedirects = 10;', to: 'const mostRedirects = 11;', test: PROXY, grep: 'follows ten redirects' },
  { guard: 'credentials go to the authority that the caller named, and no other', file: 'src/source/exchange.ts', from: 'access.basic !== undefined && sameAuthority(access.home, target) ?', to: 'access.basic !== undefined ?', test: CREDENTIALS },
  { guard: 'S3 keys read the bucket that the caller named, and no other', file: 'src/source/exchange.ts', from: 'return bucket.path === undefined || path.startsWith(bucket.path);', to: 'return true;', test: CREDENTIALS, grep: 'and in no other' },
  { guard: 'S3 keys go to no other bucket of Amazon', file: 'src/source/exchange.ts', from: 'return named !== undefined && (', to: 'return named !== undefined || (', test: CREDENTIALS, grep: 'signs at Amazon' },
  { guard: 'a playlist leads nowhere but through the guard', file: 'src/source/mapping.ts', from: "if (url !== undefined) return `${root}${toPath(url)}`;", to: 'if (url !== undefined) return reference;', test: 'test/source/playlist.test.ts' },
  { guard: 'a playlist names no file and no other protocol', file: 'src/source/mapping.ts', from: 'return `${root}refused/${scheme}`;', to: 'return reference;', test: 'test/source/playlist.test.ts' },
  { guard: 'a short playlist does not grow without end', file: 'src/source/mapping.ts', from: 'if (left < 0) throw', to: 'if (false) throw', test: 'test/source/playlist.test.ts' },
  { guard: 'a playlist does not unpack without end', file: 'src/source/playlist.ts', from: '{ maxOutputLength: longestPlaylist }', to: '{}', test: FAILURE, grep: 'a playlist that unpacks without end' },
  { guard: 'a tool\'s proxy asks for the secret of its job', file: 'src/source/proxy.ts', from: "if (login === undefined) refuse(response, 407, 'Proxy authentication required.', challenge);", to: "if (login === undefined) await serveAbsolute([...logins.values()][0]!, request, response);", test: PROXY, grep: 'asks for the secret' },
  { guard: 'a tool cannot ask as another tool', file: 'src/source/proxy.ts', from: 'login === undefined || login.tool !== match[2]', to: 'login === undefined', test: PARAMETERS, grep: 'as another tool' },
  { guard: 'the validator is told no parameter that its playlist does not declare', file: 'src/source/serve.ts', from: '(await parametersOf(file, head)).filter((name) => wanted.includes(name))', to: 'wanted', test: PARAMETERS, grep: 'only names that the playlist declares' },
  { guard: 'a credential among the parameters is a stand-in', file: 'src/source/parameters.ts', from: 'isCredential(name) && value.length >= shortest', to: 'value === null', test: PARAMETERS, grep: 'stand-in' },
  { guard: 'a stand-in counts at the playlist\'s own host alone', file: 'src/source/parameters.ts', from: 'url.includes(text) && sameAuthority(home, targetOf(url))', to: 'url.includes(text)', test: PARAMETERS, grep: 'stand-in' },
  { guard: 'a tool gets no tunnel', file: 'src/source/http_proxy.ts', from: "answer(socket, 403, 'Forbidden');", to: "answer(socket, 200, 'Connection established');", test: PROXY, grep: 'opens no tunnel' },
  { guard: 'connections are shared only where the guard decides alike', file: 'src/source/proxy.ts', from: 'const key = `${verify} ${guard.key}`;', to: 'const key = `${verify}`;', test: READ, grep: 'does not share connections' },
  { guard: 'a certificate must be good', file: 'src/source/connect.ts', from: 'rejectUnauthorized: verify,', to: 'rejectUnauthorized: false,', test: FAILURE, grep: 'certificate' },
  { guard: 'a declared size over the limit is refused before it is read', file: 'src/source/origin_file.ts', from: 'head.size !== undefined && head.size > this.#context.maxBytes', to: 'false', test: FAILURE, grep: 'a declared size over the limit' },
  { guard: 'a read that passes the limit is cut', file: 'src/source/job.ts', from: 'this.#stats.ioUsage > this.#limits.maxBytes', to: 'false', test: FAILURE, grep: 'a read that passes the limit' },
  { guard: 'an origin that falls silent is given up', file: 'src/source/transfer.ts', from: "finish(new SourceError('cut', 'The host stopped sending.', { reason: 'timeout' }))", to: 'undefined', test: FAILURE, grep: 'an origin that falls silent' },
  { guard: 'pages of one file are not given for another', file: 'src/source/job.ts', from: "const key = `${verify ? 'v' : 'u'}${anonymous ? 'a' : 'c'}${recorded ? 'r' : 'o'} ${url}`;", to: "const key = 'v';", test: READ },
  { guard: 'no more pages are kept than allowed', file: 'src/source/cache.ts', from: 'if (this.#pages.size <= this.#most) return;\n    for', to: 'if (this.#most > 0) return;\n    for', test: READ, grep: 'keeps no more pages than it may' },
  { guard: 'a file that changes while it is read is no file', file: 'src/source/origin_file.ts', from: ' && markOf(response) === this.#mark) return response;', to: ') return response;', test: FAILURE, grep: 'a file that changes while it is read' },
  { guard: 'every value of a query is hidden', file: 'src/source/redact.ts', from: 'if (at !== -1) return `${pair.slice(0, at)}=${hidden}`;', to: 'if (at !== -1) return pair;', test: 'test/source/redact.test.ts' },
  { guard: 'secrets of a source are struck out of what tools print', file: 'src/source/redact.ts', from: 'add(source.credentials?.password, 6);', to: '', test: 'test/source/redact.test.ts' },
  { guard: 'secrets are struck out in each form in which they can come back', file: 'src/source/redact.ts', from: "for (const form of [value, encoded,", to: 'for (const form of [value,', test: 'test/source/redact.test.ts' },
  { guard: 'user info is taken out of any address that a tool prints', file: 'src/source/redact.ts', from: "*@/gi, '$1');", to: "*@/gi, '$&');", test: 'test/source/redact.test.ts' },
  { guard: 'a stream key is never shown', file: 'src/source/redact.ts', from: "if (scheme === 'rtmp' || scheme === 'rtmps') return", to: 'if (false) return', test: 'test/source/redact.test.ts' },
  { guard: 'an FTP server opens no port beside those that are allowed', file: 'src/source/connect.ts', from: "if (guard.check(address, port, host) !== 'ok') throw refusedAddress();", to: '', test: 'test/source/relay_guard.test.ts', grep: 'exception for the port of the commands' },
  { guard: 'an FTP server sends nobody elsewhere', file: 'src/source/ftp/control.ts', from: 'secure: false, address: this.#address }', to: 'secure: false }', test: 'test/source/relay_guard.test.ts', grep: 'files come from the address' },
  { guard: 'an FTP path holds no second command', file: 'src/source/ftp/transport.ts', from: "if (/[\\r\\n\\0]/.test(path)) throw", to: 'if (false) throw', test: 'test/source/ftp.test.ts', grep: 'paths cannot hold another command' },
  { guard: 'a stream is opened at a checked address', file: 'src/source/srt/session.ts', from: 'const [address] = await context.guard.resolveAndCheck(host, port);', to: 'const [address] = [{ address: host, family: 4 as const }];', test: 'test/source/relay_guard.test.ts' },
  { guard: 'an RTSP tool can ask for no other address', file: 'src/source/rtsp/names.ts', from: 'if (match === null || known === undefined) return undefined;', to: 'if (match === null || known === undefined) return uri;', test: 'test/source/rtsp.test.ts' },
  { guard: 'a sealed source opens for its own request', file: 'src/seal/open.ts', from: 'rid !== binding.requestId || ', to: '', test: SEAL },
  { guard: 'a sealed source opens for its own token', file: 'src/seal/open.ts', from: ' || tid !== binding.tokenId', to: '', test: SEAL },
  { guard: 'a kept secret opens as what it was sealed for', file: 'src/seal/box.ts', from: '.for !== purpose) throw', to: '.for === null) throw', test: 'test/seal/box.test.ts' },
  { guard: 'the company\'s proxy is not asked for addresses that are not allowed', file: 'src/source/connect.ts', from: 'await checkForEgress(guard, host, port);\n    return tunnelThrough', to: 'return tunnelThrough', test: 'test/source/egress.test.ts' },
  { guard: 'a look-up that has ended gives its place back', file: 'src/source/resolver.ts', from: 'places.leave();', to: '', test: RESOLVER, grep: 'has no more look-ups in flight' },
  { guard: 'look-ups in flight are bounded', file: 'src/source/resolver.ts', from: 'if (free > 0) {', to: 'if (true) {', test: RESOLVER, grep: 'has no more look-ups in flight' },
  { guard: 'a name server that is silent ends a look-up at its deadline', file: 'src/source/resolver.ts', from: 'late = true;\n    resolver.cancel();', to: 'late = true;', test: RESOLVER, grep: 'resolver' },
  { guard: 'a caller\'s name is never completed by a search domain', file: 'src/source/guard.ts', from: 'own.some((name) => hostFits(name, bare))', to: 'true', test: RESOLVER, grep: 'are those of the allow list' },
  { guard: 'the company\'s proxy is given the address that was checked, not the name', file: 'src/source/connect.ts', from: 'tunnelThrough(egress, address, port, signal)', to: "tunnelThrough(egress, 'rebind.example', port, signal)", test: 'test/source/egress.test.ts', grep: 'is given the address that was checked' },
  { guard: 'a literal address that is refused is told at once', file: 'src/api/source.ts', from: 'if (isRefusedLiteral(source, rules)) {', to: 'if (false) {', test: 'test/api/probe_file.test.ts', grep: 'may read a private address' },
];
