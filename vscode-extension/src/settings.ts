/** The extension's own settings; all others go to the server unchanged. */
import * as vscode from 'vscode';
import type { LanguageClientOptions } from 'vscode-languageclient/node';
import { changedValue, forwarded } from './forwarded';

const SECTION = 'winnow';

export interface Settings {
  serverPath: string;
  serverPackage: string;
  drafter: string;
  target: string;
}

export function settings(): Settings {
  return {
    serverPath: own('server.path').trim(),
    serverPackage: own('server.package').trim(),
    drafter: own('drafter'),
    target: own('target'),
  };
}

/** The user's value: `"winnow.server": {…}` in a workspace's settings gets around the scope. */
function own(name: string): string {
  const known = vscode.workspace.getConfiguration(SECTION).inspect<string>(name);
  return known?.globalValue ?? known?.defaultValue ?? '';
}

/** The value of a setting, by its name after `winnow.`; undefined at its default. */
export function changedSetting(name: string): unknown {
  return changedValue(name, vscode.workspace.getConfiguration(SECTION).get(name), inspect);
}

/** Whether a change concerns the server's settings. */
export function concernsServer(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(SECTION);
}

function inspect(name: string): ReturnType<vscode.WorkspaceConfiguration['inspect']> {
  return vscode.workspace.getConfiguration(SECTION).inspect(name);
}

/** Answers the server's `workspace/configuration`. */
export const configuration: NonNullable<NonNullable<LanguageClientOptions['middleware']>['workspace']> = {
  configuration: async (params, token, next) => {
    const answers = await next(params, token);
    return Array.isArray(answers) ? answers.map((section) => forwarded(section, inspect)) : answers;
  },
};
