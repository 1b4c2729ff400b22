// Lists the tab as Stagehand does, once for each line on its input: node stagehand_peer.mjs CDP_URL
import { createInterface } from 'node:readline';
import { Stagehand } from '@browserbasehq/stagehand';

const version = await (await fetch(`${process.argv[2]}/json/version`)).json();
const stagehand = new Stagehand({
  env: 'LOCAL', verbose: 0, disablePino: true,
  localBrowserLaunchOptions: { cdpUrl: version.webSocketDebuggerUrl },
});
await stagehand.init();
for await (const _line of createInterface({ input: process.stdin })) {
  const page = stagehand.context.pages()[0];
  const { formattedTree } = await page.snapshot();
  process.stdout.write(`${JSON.stringify({ listing: formattedTree })}\n`);
}
