/** Offers `winnow mcp` to agent mode, with the program and the settings of the language server. */
import * as vscode from 'vscode';
import type { Found } from '../server/finding';
import type { Session } from '../server/session';
import { changedSetting, concernsServer, settings } from '../settings';
import { commandLine } from './options';

const ID = 'winnow.agents';

export class Definitions implements vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];

  readonly onDidChangeMcpServerDefinitions = this.changed.event;

  constructor(
    session: Session,
    private readonly find: () => Promise<Found | undefined>,
    private readonly version: string,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const fire = (): void => { this.changed.fire(); };
    this.subscriptions = [
      session.onDidChange(fire), // trusted, set up, or another program
      vscode.workspace.onDidChangeWorkspaceFolders(fire),
      vscode.workspace.onDidChangeConfiguration((event) => { if (concernsServer(event)) fire(); }),
    ];
  }

  /** One server for all folders, which VS Code sends it as roots; none without trust, a folder or a program. */
  async provideMcpServerDefinitions(): Promise<vscode.McpStdioServerDefinition[]> {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    if (!vscode.workspace.isTrusted || folder === undefined) return [];
    const found = await this.program();
    if (found === undefined) return [];
    const definition = new vscode.McpStdioServerDefinition('Winnow MCP', found.command, commandLine(settings(), changedSetting), {}, this.version);
    definition.cwd = folder.uri;
    return [definition];
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private async program(): Promise<Found | undefined> {
    try {
      return await this.find();
    } catch (error) {
      this.log.warn(`no server for agents: ${String(error)}`); // the session tells the user
      return undefined;
    }
  }
}

/** Registers nothing in editors based on VS Code that lack MCP servers. */
export function registerDefinitions(definitions: Definitions): vscode.Disposable {
  const { registerMcpServerDefinitionProvider: register } = vscode.lm as Partial<typeof vscode.lm>;
  return vscode.Disposable.from(definitions, ...(register === undefined ? [] : [register(ID, definitions)]));
}
