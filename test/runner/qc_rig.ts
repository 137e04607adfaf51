/** Content checks in a real agent, of media that its origin serves. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { QcPictures } from '../../src/media/qc/pictures_schema.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import type { AssignedTool, Assignment } from '../../src/platform/bus/messages.ts';
import { toneWav } from '../qc/media.ts';
import type { TextBody } from '../result/text_body.ts';
import { Rig } from './agent_rig.ts';

export const resultIn = ({ tools }: TextBody) => tools.find(({ name }) => name === 'qc')!;
export const told = (body: TextBody): QcReport => JSON.parse(resultIn(body).output ?? 'null') as QcReport;

/** Undefined: none were kept. */
export const picturesOf = ({ pictures }: TextBody): QcPictures | undefined =>
  pictures && (JSON.parse(pictures.output) as QcPictures);

export class QcRig extends Rig {
  media = toneWav(1, 0.1);
  /** The programs of the images, after `unpackPrograms`. */
  readonly programs: AssignedTool[] = [];

  serveMedia(): void {
    this.serve = (request, response) => {
      const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const part = this.media.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
      const head = { 'accept-ranges': 'bytes', 'content-length': part.length };
      const range = `bytes ${from}-${Number(from) + part.length - 1}/${this.media.length}`;
      if (request.headers.range === undefined) response.writeHead(200, head);
      else response.writeHead(206, { ...head, 'content-range': range });
      response.end(part);
    };
  }

  /** False if an image is not built. */
  async unpackPrograms(): Promise<boolean> {
    const built = (await cachedTools()).filter(({ entry, image }) => image !== undefined && entry.version === '7.1');
    const images = ['ffprobe', 'qc'].map((tool) => built.find(({ entry }) => entry.tool === tool));
    if (images.some((found) => !found)) return false;
    for (const found of images) {
      const { entry, image } = found!;
      const folder = join(this.directory, 'images', entry.tool);
      mkdirSync(folder, { recursive: true });
      await unpack(image!.archive, folder);
      const command = entry.command.map((part) => part.replaceAll('{root}', folder));
      this.programs.push({ name: entry.tool, version: entry.version, timeoutMs: 60_000, options: {}, command });
    }
    return true;
  }

  /** The programs, of which the checks have these options. */
  programsWith(options: Record<string, string>): AssignedTool[] {
    return this.programs.map((tool) => (tool.name === 'qc' ? { ...tool, options } : tool));
  }

  async ended(
    file: Buffer,
    options: Record<string, string> = {},
    assignment: Partial<Assignment> = {},
  ): Promise<TextBody> {
    this.media = file;
    const { body } = await this.run(this.go(this.programsWith(options), { assignment }));
    assert.equal(resultIn(body).success, true, resultIn(body).error);
    return body;
  }

  async check(file: Buffer, options: Record<string, string> = {}): Promise<QcReport> {
    return told(await this.ended(file, options));
  }
}
