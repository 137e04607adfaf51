/** Images and chart on the node. */
import { join } from 'node:path';
import type { Built } from './build.ts';
import { installChart } from './chart.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { JOINED, NODE } from './layout.ts';
import { wantedNodes } from './joined_nodes.ts';
import { deliverImages, type BuiltImage } from './product_images.ts';

/** Delivers the images and installs the chart. Returns whether anything was new on the node. */
export async function installProduct(built: Built, hostIp: string, images: readonly BuiltImage[]): Promise<boolean> {
  let imported = 0;
  const layouts = [NODE, ...JOINED.slice(0, wantedNodes() - 1).map(({ layout }) => layout)];
  for (const layout of layouts) imported += await deliverImages(layout, built, images);
  const helm = join(built.get('helm')!, 'helm');
  const installed = await installChart({ helm, kubeconfig: kubeconfigOf(NODE, 'admin'), images, hostIp });
  return imported > 0 || installed;
}
