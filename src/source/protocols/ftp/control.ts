import { isIP, type Socket } from 'node:net';
import { addressReached } from '../../http/connect.ts';
import { isSourceError, SourceError, unreachable } from '../../error.ts';
import { answerTimeout, noAnswer, readFailure, unreadableAddress, wrongProtocol } from '../../failures.ts';
import type { SocketContext } from '../protocol.ts';

export interface Reply {
  code: number;
  text: string;
}

const LONGEST_REPLY = 16384;
/** Replies that no command has asked for. A server confirms the end of a transfer with one. */
const MOST_UNASKED = 16;

/** The control connection to an FTP server. One command at a time. */
export class FtpControl {
  readonly #socket: Socket;
  readonly #context: SocketContext;
  /** The address that the host resolved to: data connections go to the same machine. */
  readonly #address: string | undefined;
  #line = '';
  /** The lines of a reply of several so far. */
  #begun: Reply | undefined;
  /** Bytes since the last reply. */
  #length = 0;
  #error: SourceError | undefined;
  #replies: Reply[] = [];
  #waiting: ((reply: Reply | undefined) => void) | undefined;
  #plainPassive = false;
  broken = false;

  private constructor(socket: Socket, context: SocketContext) {
    this.#socket = socket;
    this.#context = context;
    this.#address = addressReached(socket);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#take(text));
    const gone = (): void => {
      this.broken = true;
      this.#waiting?.(undefined);
    };
    socket.on('error', gone).on('close', gone).on('end', gone);
    socket.unref();
  }

  /** Connects and logs in, in binary mode. */
  static async open(context: SocketContext): Promise<FtpControl> {
    const { host, port } = context.place;
    const control = new FtpControl(await context.dial(host, port, { secure: false }), context);
    context.count.request(true);
    try {
      await control.#expect(await control.reply(), 220);
      const { user, password } = context.source.credentials ?? { user: 'anonymous', password: 'anonymous@' };
      let said = await control.command(`USER ${user}`);
      if (said.code === 331) said = await control.command(`PASS ${password}`);
      if (said.code === 332) throw refusedBy(530);
      await control.#expect(said, 230, 202);
      await control.#expect(await control.command('TYPE I'), 200);
      return control;
    } catch (error) {
      control.close();
      throw error;
    }
  }

  async command(line: string): Promise<Reply> {
    if (/[\r\n\0]/.test(line)) throw unreadableAddress();
    // An unexpected reply belongs to an earlier command.
    this.#replies = [];
    this.#socket.write(`${line}\r\n`, 'utf8');
    return this.reply();
  }

  /** The next final or preliminary reply. */
  reply(deadlineMs = this.#context.idleMs): Promise<Reply> {
    const known = this.#replies.shift();
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      if (this.broken) {
        reject(this.#error ?? noAnswer());
        return;
      }
      const late = setTimeout(() => {
        this.#waiting = undefined;
        this.close();
        reject(answerTimeout());
      }, deadlineMs);
      this.#waiting = (reply) => {
        clearTimeout(late);
        this.#waiting = undefined;
        if (reply === undefined) reject(this.#error ?? noAnswer());
        else resolve(reply);
      };
    });
  }

  /**
   * Opens a data connection. Only the port is taken from the server and never a host, so it cannot redirect the
   * connection. The port is checked like any other: an exception for the control port permits no other port of a
   * private host.
   */
  async passive(): Promise<Socket> {
    const { host } = this.#context.place;
    const extended = this.#plainPassive && isIP(this.#address ?? '') !== 6 ? undefined : await this.command('EPSV');
    let port = extended?.code === 229 ? Number(/\(([^0-9])\1\1(\d{1,5})\1\)/.exec(extended.text)?.[2]) : NaN;
    if (!(port > 0)) {
      this.#plainPassive = true;
      const said = await this.command('PASV');
      await this.#expect(said, 227);
      const [, high, low] = /\d+,\d+,\d+,\d+,(\d{1,3}),(\d{1,3})/.exec(said.text) ?? [];
      port = Number(high) * 256 + Number(low);
    }
    if (!(port >= 1 && port <= 65535)) throw unreachable('protocol', 'the FTP server gave no data port');
    return this.#context.dial(host, port, { secure: false, address: this.#address }).catch((error: unknown) => {
      const refused = isSourceError(error) && error.code === 'refused';
      throw refused
        ? new SourceError('refused', `the FTP server names data port ${port}, which is not allowed on this host`, {
            cause: error,
          })
        : error;
    });
  }

  async #expect(reply: Reply, ...codes: number[]): Promise<void> {
    if (!codes.includes(reply.code)) throw refusedBy(reply.code);
  }

  close(): void {
    this.broken = true;
    this.#socket.destroy();
  }

  #take(text: string): void {
    try {
      this.#context.count.bytes(text.length);
      for (let at = 0; at < text.length && !this.broken;) {
        const end = text.indexOf('\n', at) + 1 || text.length;
        this.#line += text.slice(at, end);
        this.#length += end - at;
        if (this.#length > LONGEST_REPLY) throw nonsense('long reply');
        at = end;
        if (!text.endsWith('\n', end)) return;
        this.#read(this.#line);
        this.#line = '';
      }
    } catch (error) {
      this.#error = readFailure(error);
      this.close();
    }
  }

  /** A line, which may end in LF alone. A reply of several lines ends with its code and a blank. */
  #read(line: string): void {
    const [, digits, mark] = /^(\d{3})([ -]|\r?\n)/.exec(line) ?? [];
    if (this.#begun !== undefined) {
      this.#begun.text += line;
      if (Number(digits) === this.#begun.code && mark !== '-') this.#reply(this.#begun);
    } else if (digits !== undefined) {
      this.#begun = { code: Number(digits), text: line };
      if (mark !== '-') this.#reply(this.#begun);
    } else if (line.trim() !== '') throw nonsense('not a reply');
  }

  #reply(reply: Reply): void {
    this.#begun = undefined;
    this.#length = 0;
    if (this.#waiting) this.#waiting(reply);
    else if (this.#replies.push(reply) > MOST_UNASKED) throw nonsense('replies without a command');
  }
}

const nonsense = (detail: string): SourceError => wrongProtocol('FTP', { detail });

/** The HTTP status in which a reply is recorded. */
const STATUSES: Readonly<Record<number, readonly number[]>> = {
  404: [550, 551, 553],
  401: [332, 430, 530],
  503: [421, 425, 450, 451],
};

export function refusedBy(code: number): SourceError {
  const status = Number(Object.entries(STATUSES).find(([, codes]) => codes.includes(code))?.[0] ?? 502);
  return unreachable('status', `the FTP server answered ${code}`, { status });
}
