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

/** The properties by the form of a name, from its parts in parentheses. */
const FORMS: readonly [RegExp, (...parts: string[]) => Fields][] = [
  [
    /^(yuva?|yuvj)(4\d\d)p(\d{1,2})?(?:le|be)?$/,
    (kind = '', chroma = '', depth = '8') => of('yuv', kind.replace('j', ''), CHROMA[chroma], depth),
  ],
  [/^nv12/, () => of('yuv', 'yuv', '4:2:0', 8)],
  [/^nv21/, () => of('yuv', 'yvu', '4:2:0', 8)],
  [/^nv16/, () => of('yuv', 'yuv', '4:2:2', 8)],
  [/^nv20/, () => of('yuv', 'yuv', '4:2:2', 10)],
  [/^nv24/, () => of('yuv', 'yuv', '4:4:4', 8)],
  [/^nv42/, () => of('yuv', 'yvu', '4:4:4', 8)],
  [/^p0(10|12|16)(?:le|be)$/, (depth) => of('yuv', 'yuv', '4:2:0', depth)],
  [/^p2(10|12|16)(?:le|be)$/, (depth) => of('yuv', 'yuv', '4:2:2', depth)],
  [/^p4(10|12|16)(?:le|be)$/, (depth) => of('yuv', 'yuv', '4:4:4', depth)],
  [/^(yuyv|uyvy|yvyu)422$/, (order) => of('yuv', order, '4:2:2', 8)],
  [/^y2(1[02])/, (depth) => of('yuv', 'yuyv', '4:2:2', depth)],
  [/^gray(\d{1,2})?(?:f?\d*)(?:le|be)?$/, (depth = '8') => of('gray', 'y', '4:0:0', depth)],
  [/^ya(\d{1,2})?(?:f?\d*)(?:le|be)?$/, (depth = '8') => of('gray', 'ya', '4:0:0', depth)],
  [/^(gbra?)p(\d{1,2})?/, (order, depth = '8') => of('rgb', order, undefined, depth)],
  [/^0?(rgb|bgr|rgba|bgra|argb|abgr)0?(24|30)?(?:le|be)?$/, (order) => of('rgb', order, undefined, 8)],
  [/^0?(rgb|bgr|rgba|bgra|argb|abgr)0?(48|64)(?:le|be)?$/, (order) => of('rgb', order, undefined, 16)],
  [/^mono[bw]/, () => of('gray', 'y', '4:0:0', 1)],
  [/^pal8$/, () => of('palette', 'rgb', undefined, 8)],
];

export function pixelFormat(name = ''): Fields {
  for (const [form, properties] of FORMS) {
    const found = form.exec(name);
    if (found) return properties(...found.slice(1));
  }
  return {};
}

const of = (model: string, order = '', chroma: string | undefined, depth: string | number | undefined): Fields =>
  known<Fields[string]>({
    'pixel_format.color_model': model,
    'pixel_format.components_order': order,
    'pixel_format.chroma_subsampling': chroma,
    'pixel_format.bit_depth': Number(depth),
    'pixel_format.has_alpha': model === 'palette' ? undefined : order.includes('a'),
  });
