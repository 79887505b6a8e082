import * as vscode from 'vscode';
import { Definitions, registerDefinitions } from './agents/register';
import { AskView } from './ask/view';
import { History } from './asking/history';
import { sendCommand } from './asking/requests';
import { Service } from './asking/service';
import { announceModel, registerModel } from './chat/model';
import { Proposals } from './changes/proposals';
import { registerParticipant } from './chat/participant';
import { registerAsking } from './commands/asking';
import { registerChanges } from './commands/changes';
import { Reviews } from './commands/reviewing';
import { registerServerCommands } from './commands/server';
import { SpansCommands } from './commands/spans';
import { clientOptions } from './middleware';
import { registerChoosing } from './models/choosing';
import { registerModels } from './models/register';
import { findServer } from './server/finding';
import { machine } from './server/machine';
import { Session } from './server/session';
import { registerSetUp } from './setup/register';
import { SpansView } from './spans/view';
import { registerStatusBar } from './status/bar';
import { registerContext } from './status/context';
import { registerTools } from './tools/register';

/** For the tests; no promise to other extensions. */
export interface Api {
  session: Session;
  service: Service;
  ask: AskView;
  spans: SpansView;
  definitions: Definitions;
}

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel('Winnow', { log: true });
  const find = () => findServer(machine(context, log));
  const send = async (command: string, args: unknown[]): Promise<unknown> => sendCommand(await session.ready(), command, args);
  const session: Session = new Session(find, clientOptions(() => ({ ask, search: (question) => commands.search(question), change: (wanted) => proposals.propose(wanted), send })), log);
  const spans = new SpansView(context.extensionUri);
  const service = new Service(session, new History(context.workspaceState));
  const ask = new AskView(vscode.Uri.joinPath(context.extensionUri, 'dist'), service, session, (exchange) => spans.reveal(exchange));
  const definitions = new Definitions(session, find, versionOf(context), log);
  const proposals = new Proposals(session);
  const reviews = new Reviews(session);
  const commands = new SpansCommands(session, service, spans);
  context.subscriptions.push(
    log,
    session,
    spans,
    service,
    ask,
    commands,
    proposals,
    reviews,
    registerAsking(ask),
    registerChanges(ask, session),
    registerServerCommands(session, log),
    registerStatusBar(session),
    registerContext(session),
    registerSetUp(context, session, log),
    registerModels(session, find, log),
    registerChoosing(session, context.globalState),
    registerParticipant(service, commands, reviews, vscode.Uri.joinPath(context.extensionUri, 'media', 'winnow.svg')),
    registerModel(session),
    registerTools(session),
    registerDefinitions(definitions),
  );
  void announceModel();
  void session.restart();
  running = session;
  return { session, service, ask, spans, definitions };
}

/** VS Code awaits this, but not the subscriptions. */
export async function deactivate(): Promise<void> {
  await running?.dispose();
}

function versionOf(context: vscode.ExtensionContext): string {
  return (context.extension.packageJSON as { version: string }).version;
}

let running: Session | undefined;
