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

/** The value of a setting, by its name after `winnow.`; undefined at its default. */
export function changedSetting(name: string): unknown {
  const value = vscode.workspace.getConfiguration(SECTION).get(name);
  return isDefault(name, value) ? undefined : value;
}

/** Whether a change requires a restart of the server. */
export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(`${SECTION}.server.path`);
}

/** Whether a change concerns the server's settings. */
export function concernsServer(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(SECTION);
}

/**
 * The settings for the server: without the extension's own, and without defaults, which would win over a renamed
 * setting's old name, or be reported as invalid where an old name has none.
 */
export function forServer(section: unknown): unknown {
  if (typeof section !== 'object' || section === null) return section;
  const changed = Object.entries(section).filter(([name, value]) => !OWN.includes(name) && !isDefault(name, value));
  return JSON.parse(JSON.stringify(Object.fromEntries(changed), (_, value: unknown) => value ?? undefined));
}

function isDefault(name: string, value: unknown): boolean {
  const usual = vscode.workspace.getConfiguration(SECTION).inspect(name)?.defaultValue;
  return JSON.stringify(value) === JSON.stringify(usual);
}

/** Answers the server's `workspace/configuration`. */
export const configuration: NonNullable<NonNullable<LanguageClientOptions['middleware']>['workspace']> = {
  configuration: async (params, token, next) => {
    const answers = await next(params, token);
    return Array.isArray(answers) ? answers.map(forServer) : answers;
  },
};
