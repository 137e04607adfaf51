/** As `ffprobe -show_frames -of json` prints them. */
export function frames(bytes: number): string {
  const parts: string[] = ['{\n    "frames": [\n'];
  let sum = 0;
  for (let index = 0; sum < bytes; index++) {
    const frame =
      `        {\n            "media_type": "video",\n            "key_frame": ${index % 50 === 0 ? 1 : 0},\n` +
      `            "pts": ${index * 512},\n            "pts_time": "${(index / 25).toFixed(6)}",\n` +
      `            "pkt_size": "${1000 + (index % 977)}",\n` +
      `            "pict_type": "${'IPBB'[index % 4]}"\n        },\n`;
    parts.push(frame);
    sum += frame.length;
  }
  parts.push('        {"last": "needle in the hay"}\n    ]\n}\n');
  return parts.join('');
}
