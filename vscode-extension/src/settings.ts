/** The extension's own settings; all others go to the server unchanged. */
import * as vscode from 'vscode';
import type { LanguageClientOptions } from 'vscode-languageclient/node';

const SECTION = 'winnow';
/** Names under `winnow.` that the server does not know. */
const OWN = ['server', 'trace'];

export interface Settings {
  serverPath: string;
  serverPackage: string;
  drafter: string;
  target: string;
}

export function settings(): Settings {
  const section = vscode.workspace.getConfiguration(SECTION);
  return {
    serverPath: section.get('server.path', '').trim(),
    serverPackage: section.get('server.package', '').trim(),
    drafter: section.get('drafter', ''),
    target: section.get('target', ''),
  };
}

/** The value and the default of a setting, by its name after `winnow.`. */
export function settingOf(name: string): { value: unknown; usual: unknown } {
  const section = vscode.workspace.getConfiguration(SECTION);
  return { value: section.get(name), usual: section.inspect(name)?.defaultValue };
}

/** Whether a change requires a restart of the server. */
export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(`${SECTION}.server.path`);
}

/** Whether a change concerns the server's settings. */
export function concernsServer(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(SECTION);
}

/** The section without the extension's own settings, which the server would report as unknown. */
export function withoutOwn(section: unknown): unknown {
  if (typeof section !== 'object' || section === null) return section;
  return Object.fromEntries(Object.entries(section).filter(([name]) => !OWN.includes(name)));
}

/** Answers the server's `workspace/configuration`. */
export const configuration: NonNullable<NonNullable<LanguageClientOptions['middleware']>['workspace']> = {
  configuration: async (params, token, next) => {
    const answers = await next(params, token);
    return Array.isArray(answers) ? answers.map(withoutOwn) : answers;
  },
};
