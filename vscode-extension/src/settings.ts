/** This extension's own settings; all others go to the server as they are. */
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

/** A setting's value and its default, by its name after `winnow.`. */
export function settingOf(name: string): { value: unknown; usual: unknown } {
  const section = vscode.workspace.getConfiguration(SECTION);
  return { value: section.get(name), usual: section.inspect(name)?.defaultValue };
}

/** Whether a change asks for another server. */
export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(`${SECTION}.server.path`);
}

/** Whether the server should read its settings again. */
export function concernsServer(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(SECTION);
}

/** Without this extension's own settings, which the server would report as unknown. */
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
