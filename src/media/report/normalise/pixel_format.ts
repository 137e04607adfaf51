/** Splits ffmpeg's pixel format names into their properties. */
import type { Fields } from '../side.ts';
import { known } from '../json.ts';

const CHROMA: Readonly<Record<string, string>> = {
  420: '4:2:0',
  422: '4:2:2',
  444: '4:4:4',
  411: '4:1:1',
  410: '4:1:0',
  440: '4:4:0',
};

export function pixelFormat(name: string | undefined): Fields {
  if (name === undefined) return {};
  const planar = /^(yuva?|yuvj)(4\d\d)p(\d{1,2})?(?:le|be)?$/.exec(name);
  if (planar)
    return of(
      'yuv',
      planar[1] === 'yuva' ? 'yuva' : 'yuv',
      CHROMA[planar[2]!],
      Number(planar[3] ?? 8),
      planar[1] === 'yuva',
    );
  const semi = /^(nv12|nv21|nv16|nv24|nv42|nv20)/.exec(name);
  if (semi)
    return of(
      'yuv',
      semi[1] === 'nv21' || semi[1] === 'nv42' ? 'yvu' : 'yuv',
      { nv12: '4:2:0', nv21: '4:2:0', nv16: '4:2:2', nv20: '4:2:2' }[semi[1]!] ?? '4:4:4',
      semi[1] === 'nv20' ? 10 : 8,
      false,
    );
  const deep = /^p([024])(10|12|16)(?:le|be)$/.exec(name);
  if (deep) return of('yuv', 'yuv', { 0: '4:2:0', 2: '4:2:2', 4: '4:4:4' }[deep[1]!], Number(deep[2]), false);
  const packed = /^(yuyv422|uyvy422|yvyu422)$/.exec(name);
  if (packed) return of('yuv', packed[1]!.slice(0, 4), '4:2:2', 8, false);
  const y2 = /^y21([02])/.exec(name);
  if (y2) return of('yuv', 'yuyv', '4:2:2', y2[1] === '0' ? 10 : 12, false);
  const gray = /^(gray|ya)(\d{1,2})?(?:f?\d*)(?:le|be)?$/.exec(name);
  if (gray) return of('gray', gray[1] === 'ya' ? 'ya' : 'y', '4:0:0', Number(gray[2] ?? 8), gray[1] === 'ya');
  const planes = /^gbr(a?)p(\d{1,2})?/.exec(name);
  if (planes) return of('rgb', planes[1] === 'a' ? 'gbra' : 'gbr', '4:4:4', Number(planes[2] ?? 8), planes[1] === 'a');
  const rgb = /^(rgb|bgr|rgba|bgra|argb|abgr|0rgb|rgb0|0bgr|bgr0)(24|48|64|30)?(?:le|be)?$/.exec(name);
  if (rgb)
    return of(
      'rgb',
      rgb[1]!.replace('0', ''),
      '4:4:4',
      rgb[2] === '48' || rgb[2] === '64' ? 16 : 8,
      rgb[1]!.includes('a'),
    );
  if (name === 'pal8') return of('palette', 'rgb', undefined, 8, undefined);
  if (/^mono[bw]/.test(name)) return of('gray', 'y', '4:0:0', 1, false);
  return {};
}

const of = (
  model: string,
  order: string,
  chroma: string | undefined,
  depth: number,
  alpha: boolean | undefined,
): Fields =>
  known({
    'pixel_format.color_model': model,
    'pixel_format.components_order': order,
    'pixel_format.chroma_subsampling': model === 'rgb' ? undefined : chroma,
    'pixel_format.bit_depth': depth,
    'pixel_format.has_alpha': alpha,
  });
