// Sets Winnow up by clicks where nothing is installed: consent, its server with weights from a package index, its models, each stopped once.
// usage: node setup.mjs URL FOLDER PICTURES ENVIRONMENT MODELS     ENVIRONMENT, MODELS: the folders that should come to be filled
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askPage, command, enter, leave, page, picture, pressInNotification, status, step, until, useTheme } from './person.mjs';

const [, , , , , environment, models] = process.argv;
const dialog = page.locator('.monaco-dialog-box', { hasText: 'Winnow needs its server' });

async function answerDialog(label) {
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

await step('without a server the status bar offers to set up', async () => {
  await enter();
  await status('was not found').waitFor();
  await useTheme('dark');
});
await step('nothing is installed without consent', async () => {
  await pressInNotification('Winnow did not find its server', 'Set Up');
  await picture('walkthrough-server', dialog);
  await answerDialog('Cancel');
  if (existsSync(environment)) throw new Error(`${environment} was made`);
});
await step('installing shows progress, and stops when told to', async () => {
  await command('Winnow: Set Up');
  await answerDialog('Install');
  await pressInNotification(/installing its server.*Downloading/s, 'Cancel');
  await until(() => !existsSync(environment));
});
await step('the server is installed, and runs, also where the settings name one that does not', async () => {
  await command('Winnow: Ask a Question');
  await (await askPage()).getByRole('button', { name: 'Set up…' }).waitFor();
  const settings = join(environment, '../../../../Machine/settings.json');
  writeFileSync(settings, JSON.stringify({ ...JSON.parse(readFileSync(settings, 'utf8')), 'winnow.server.path': '/nowhere/winnow' }));
  await status('/nowhere/winnow').waitFor({ state: 'attached' });
  await (await askPage()).getByRole('button', { name: 'Set up…' }).click();
  await answerDialog('Install');
  await status('smollm2-135m is not at').waitFor({ state: 'attached' });
  if (!existsSync(`${environment}/bin/winnow`)) throw new Error('another server runs');
});
await step('downloading models shows progress, stops when told to, and keeps what came', async () => {
  await pressInNotification('Not downloaded yet: smollm2-135m (98 MB, Apache-2.0)', 'Download');
  await pressInNotification(/downloading models.*[1-9]\d MB of 98 MB/s, 'Cancel');
  await until(() => readdirSync(models).some((file) => file.endsWith('.part')));
});
await step('the models are downloaded, and the server gets ready', async () => {
  await command('Winnow: Download Models');
  await status('Winnow: Ready').waitFor();
});
await step('a first question is answered', async () => {
  const ask = await askPage();
  await ask.getByRole('textbox').fill('What does the function `total` do?');
  await ask.getByRole('textbox').press('Enter');
  await ask.locator('.places li > *').first().waitFor();
  await picture('setup-answer');
});
await leave();
