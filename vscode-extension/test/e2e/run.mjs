// Runs a suite inside the extension host of a real VS Code; Chromium is only the shell.
// usage: node run.mjs URL WORKSPACE SUITE        URL: of code-server; WORKSPACE: a folder or a .code-workspace file
//
// A built VS Code ignores the usual way of handing tests over, so the page's configuration is edited on its way in.
// (Not by intercepting the page: Chromium would then count it as public and block its socket to this machine.)
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const [, , base, workspace, suite] = process.argv;
const LONGEST_MS = Number(process.env.WINNOW_E2E_LONGEST_MS ?? 1_140_000);
const extension = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const uri = (path) => ({ $mid: 1, scheme: 'vscode-remote', authority: new URL(base).host, path });
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: flags });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] });
await page.addInitScript(
  (options) => {
    const original = Element.prototype.getAttribute;
    Element.prototype.getAttribute = function (name) {
      const value = original.call(this, name);
      if (name !== 'data-settings' || this.id !== 'vscode-workbench-web-configuration') return value;
      const configuration = JSON.parse(value);
      configuration.developmentOptions = { ...configuration.developmentOptions, ...options };
      return JSON.stringify(configuration);
    };
  },
  { extensions: [uri(extension)], extensionTestsPath: uri(suite) },
);
page.getByRole('button', { name: 'Trust', exact: true }).first().click({ timeout: LONGEST_MS }).catch(() => undefined); // once a suite opens the editor for it
const exit = new Promise((resolve) => page.exposeFunction('codeAutomationExit', resolve));
await page.exposeFunction('codeAutomationLog', (type, values) => console.log(`[${type}]`, ...values));
await page.goto(`${base}/?${workspace.endsWith('.code-workspace') ? 'workspace' : 'folder'}=${workspace}`);
const code = await Promise.race([exit, new Promise((resolve) => setTimeout(resolve, LONGEST_MS, 'timeout'))]);
if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT }).catch((error) => console.log(`no screenshot: ${error}`));
console.log(`the extension host ended with ${code}`);
await browser.close();
process.exit(code === 0 ? 0 : 1);
