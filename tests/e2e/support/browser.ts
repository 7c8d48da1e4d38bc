/** Chromium and a static server, for tests that need a real page. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium } from 'playwright-core';
import { staticServer } from '../../../web/static-server.mjs';

/** No background traffic, and no sandbox where it cannot work: as root, which CI often is. */
const FLAGS = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts headless Chromium with an empty profile; the caller closes it. `CHROMIUM` names another browser. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

export interface ServedFolder {
  /** Address of the folder, with its closing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a folder on a free port of localhost, without COOP or COEP if they are not in `headers`. */
export async function serveFolder(
  folder: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ServedFolder> {
  const server: Server = staticServer(folder, headers);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise((resolve, reject) => {
        server.closeAllConnections();
        server.close((error) => (error ? reject(error) : resolve()));
      }),
  };
}
