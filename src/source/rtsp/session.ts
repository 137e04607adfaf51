import { SourceError } from '../error.ts';
import type { RelayContext } from '../relay.ts';
import type { Session, Sink } from '../stream/live.ts';
import { matroskaCluster, matroskaHeader } from './matroska.ts';
import { headerOf } from './message.ts';
import { readRtp } from './rtp.ts';
import { readSdp, type SdpMedia } from './sdp.ts';
import { trackOf, type Frame, type Track } from './track.ts';
import { refusedRtsp, RtspUpstream, type RtspResponse } from './upstream.ts';

const clusterMs = 1000;
/** How long a video may keep to itself what its decoder needs. */
const silentMs = 5000;
const mostHeld = 8 << 20;
const agent: [string, string] = ['User-Agent', 'Probeyard'];

/** Plays a stream, and gives it out as Matroska, or as the transport stream that it is: for tools that do not speak RTSP. */
export async function openRtsp(context: RelayContext, sink: Sink): Promise<Session> {
  let writer: Writer | undefined;
  // What is made of it is counted where it is read.
  const counted = { ...context, count: { request: context.count.request, bytes() {} } };
  const upstream: RtspUpstream = new RtspUpstream(counted, ({ channel, payload }) => writer?.take(channel, payload), (error) => {
    if (error && !writer?.begun) sink.fail(error);
    else writer?.end();
  });
  try {
    const described = checked(await upstream.request('DESCRIBE', upstream.base, [['Accept', 'application/sdp'], agent]));
    const { control, media } = readSdp(described.body.toString('utf8'));
    const base = headerOf(described.headers, 'content-base') ?? headerOf(described.headers, 'content-location') ?? upstream.base;
    const chosen = media.map((one) => ({ media: one, track: one.codec === 'MP2T' ? undefined : trackOf(one) })).filter(({ media: one, track }) => track !== undefined || one.codec === 'MP2T');
    if (chosen.length === 0) throw new SourceError('cut', 'The stream holds nothing that this tool can be given.', { reason: 'protocol', detail: media.map(({ codec }) => codec).join(' ').slice(0, 200) });
    let session: [string, string][] = [];
    let keepAlive = 60;
    for (const [i, { media: one }] of chosen.entries()) {
      const answer = checked(await upstream.request('SETUP', resolveControl(base, one.control), [['Transport', `RTP/AVP/TCP;unicast;interleaved=${2 * i}-${2 * i + 1}`], agent, ...session]));
      if (!/interleaved\s*=|\/TCP\b/i.test(headerOf(answer.headers, 'transport') ?? '')) throw new SourceError('origin-unreachable', 'The host sends the stream over UDP only.', { reason: 'protocol' });
      const [id = '', timeout] = (headerOf(answer.headers, 'session') ?? '').split(';');
      session = id === '' ? [] : [['Session', id.trim()]];
      keepAlive = Number(/timeout=(\d+)/.exec(timeout ?? '')?.[1] ?? keepAlive);
    }
    writer = new Writer(chosen, sink, upstream);
    const whole = control === undefined || control === '*' ? base : resolveControl(base, control);
    checked(await upstream.request('PLAY', whole, [['Range', 'npt=0.000-'], agent, ...session]));
    const alive = setInterval(() => void upstream.request('OPTIONS', whole, [agent, ...session]).catch(() => {}), Math.max(5, keepAlive / 2) * 1000);
    return {
      resume: () => upstream.resume(),
      close() {
        clearInterval(alive);
        upstream.close();
      },
    };
  } catch (error) {
    upstream.close();
    throw error;
  }
}

function checked(response: RtspResponse): RtspResponse {
  if (response.status >= 400 || response.status < 200) throw refusedRtsp(response.status);
  return response;
}

/** Servers mean their control addresses to be put behind the base, whatever the base ends with. */
function resolveControl(base: string, control: string): string {
  if (/^rtsps?:\/\//i.test(control)) return control;
  if (control === '' || control === '*') return base;
  return base.endsWith('/') ? base + control : `${base}/${control}`;
}

class Writer {
  begun = false;
  readonly #tracks: (Track | undefined)[];
  readonly #media: SdpMedia[];
  readonly #sink: Sink;
  readonly #upstream: RtspUpstream;
  readonly #started = performance.now();
  /** By the number of the medium: where it stands in the file. */
  #numbers = new Map<number, number>();
  #held: (Frame & { track: number })[] = [];
  #heldBytes = 0;

  constructor(chosen: readonly { media: SdpMedia; track: Track | undefined }[], sink: Sink, upstream: RtspUpstream) {
    this.#tracks = chosen.map(({ track }) => track);
    this.#media = chosen.map(({ media }) => media);
    this.#sink = sink;
    this.#upstream = upstream;
  }

  take(channel: number, payload: Buffer): void {
    // The odd channels are for reports.
    const index = channel / 2;
    const media = this.#media[index];
    const packet = media === undefined ? undefined : readRtp(payload);
    if (packet === undefined || packet.type !== media!.payload) return;
    const track = this.#tracks[index];
    if (track === undefined) {
      this.begun = true;
      this.#give(Buffer.from(packet.payload));
      return;
    }
    // A transport stream beside other media is the whole of it.
    if (this.#tracks.includes(undefined)) return;
    for (const frame of track.take(packet)) {
      this.#held.push({ ...frame, bytes: Buffer.from(frame.bytes), track: index });
      this.#heldBytes += frame.bytes.length;
    }
    this.#write();
  }

  end(): void {
    this.#flush();
    this.#sink.end();
  }

  #write(): void {
    if (!this.begun && !this.#begin()) return;
    const [first, last] = [this.#held[0]?.at ?? 0, this.#held.at(-1)?.at ?? 0];
    if (last - first >= clusterMs || this.#heldBytes > mostHeld) this.#flush();
  }

  #begin(): boolean {
    const ready = this.#tracks.map((track, i) => ({ track: track!, i })).filter(({ track }) => track.codecPrivate() !== undefined);
    const late = performance.now() - this.#started > silentMs || this.#heldBytes > mostHeld;
    if (this.#held.length === 0 || (ready.length < this.#tracks.length && !late)) return false;
    if (ready.length === 0) return false;
    this.begun = true;
    this.#numbers = new Map(ready.map(({ i }, number) => [i, number]));
    this.#give(matroskaHeader(ready.map(({ track }) => track)));
    return true;
  }

  #flush(): void {
    const frames = this.#held.flatMap((frame) => {
      const track = this.#numbers.get(frame.track);
      return track === undefined ? [] : [{ ...frame, track }];
    });
    this.#held = [];
    this.#heldBytes = 0;
    if (frames.length > 0) this.#give(matroskaCluster(frames));
  }

  #give(bytes: Buffer): void {
    if (!this.#sink.data(bytes)) this.#upstream.pause();
  }
}
