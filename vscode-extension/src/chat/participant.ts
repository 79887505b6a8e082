/** `@winnow` in the chat panel. */
import * as vscode from 'vscode';
import type { AskListener, Exchange, Location, Place, Question, SpanInfo } from '../ask/contract';
import { label, plain, relativePath, toRange } from '../asking/places';
import { reason } from '../asking/requests';
import type { Service } from '../asking/service';
import { percent } from '../figures';
import { likelihood } from '../spans/heat';
import { questionAbout } from '../commands/asking';
import type { SpansCommands } from '../commands/spans';
import { lastMetadata, type Metadata } from './turns';

const ID = 'winnow.repository';
const MOST_FOUND = 10;

export function registerParticipant(service: Service, commands: SpansCommands, icon: vscode.Uri): vscode.Disposable {
  const participant = vscode.chat.createChatParticipant(ID, async (request, context, stream, token) => {
    switch (request.command) {
      case 'find':
        return find(commands, request, stream, token);
      case 'why':
        return why(service, context, stream);
      case 'changes':
        return ask(service, { text: `@changes ${request.prompt}`.trim(), ...at(request) }, context, stream, token);
      case 'explain':
        return explain(service, request, context, stream, token);
      default:
        return ask(service, { text: request.prompt, ...at(request) }, context, stream, token);
    }
  });
  participant.iconPath = icon;
  participant.followupProvider = {
    provideFollowups: (result) => (lastMetadata([result]) === undefined ? [] : [{ prompt: '', command: 'why', label: 'Why these spans?' }]),
  };
  return vscode.Disposable.from(participant);
}

async function ask(service: Service, question: Question, context: vscode.ChatContext, stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<vscode.ChatResult> {
  const conversation = lastMetadata(results(context))?.conversation;
  const refer = once((location) => { stream.reference(toLocation(location)); });
  const listener: AskListener = {
    kept: (spans) => { for (const span of spans.slice(0, MOST_FOUND)) refer(span.location); },
    delta: (text) => { stream.markdown(text); },
    progress: (message) => { stream.progress(message); },
  };
  const exchange = await service.ask({ ...question, conversation }, listener, token);
  exchange.citations.forEach(refer);
  for (const notice of exchange.notices) stream.markdown(`\n\n*${notice}*`);
  if (exchange.citations.length > 0) cite(exchange, stream);
  const errorDetails = exchange.outcome === 'failed' ? { errorDetails: { message: exchange.error ?? 'failed' } } : {};
  return { ...errorDetails, metadata: { conversation: exchange.conversation, exchange: exchange.id } satisfies Metadata };
}

/** Calls `tell` once for each place. */
function once(tell: (location: Location) => void): (location: Location) => void {
  const told = new Set<string>();
  return (location) => {
    if (!told.has(label(location))) tell(location);
    told.add(label(location));
  };
}

/** Explain the selection or the symbol at the cursor, or ask the user's own question about it. */
async function explain(service: Service, request: vscode.ChatRequest, context: vscode.ChatContext, stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<vscode.ChatResult> {
  const attached = at(request);
  const about = attached.place === undefined || isOpenFile(attached.place) ? questionAbout('code') : { about: 'code' as const, ...attached };
  if (about === undefined) return refusal('Open a file of the workspace, or attach one.');
  const { place } = about;
  const question = request.prompt.trim() === '' ? about : { text: request.prompt, place };
  return ask(service, question, context, stream, token);
}

async function find(commands: SpansCommands, request: vscode.ChatRequest, stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<vscode.ChatResult> {
  if (request.prompt.trim() === '') return refusal('Say what to find: `@winnow /find where is the fee decided?`');
  stream.progress('searching');
  try {
    const { spans } = await commands.find({ text: request.prompt, ...at(request) }, { progress: (message) => { stream.progress(message); } }, token);
    if (spans.length === 0) stream.markdown('Nothing in the workspace seems to answer this.');
    listSpans(spans, stream);
    return {};
  } catch (error) {
    return token.isCancellationRequested ? {} : refusal(reason(error));
  }
}

function why(service: Service, context: vscode.ChatContext, stream: vscode.ChatResponseStream): vscode.ChatResult {
  const id = lastMetadata(results(context))?.exchange;
  const exchange = service.history().findLast((one) => (id === undefined ? one.spans.length > 0 : one.id === id));
  if (exchange === undefined) return refusal('Nothing has been answered yet.');
  listSpans(exchange.spans, stream);
  stream.button({ command: 'winnow.whyTheseSpans', title: 'Show in the Spans View' });
  return {};
}

function listSpans(spans: readonly SpanInfo[], stream: vscode.ChatResponseStream): void {
  for (const span of spans.toSorted((a, b) => b.score - a.score).slice(0, MOST_FOUND)) {
    stream.reference(toLocation(span.location));
    stream.anchor(toLocation(span.location), label(span.location));
    const strongest = Object.entries(span.features).sort(([, a], [, b]) => b - a)[0]?.[0];
    stream.markdown(` ${percent(likelihood(span.score))} likely${strongest === undefined ? '' : `, mainly by ${strongest}`}\n\n`);
  }
}

function cite(exchange: Exchange, stream: vscode.ChatResponseStream): void {
  stream.markdown('\n\nCited: ');
  for (const citation of exchange.citations) {
    stream.anchor(toLocation(citation), label(citation));
    stream.markdown(' ');
  }
}

/** The first file or selection attached to the request. */
function at(request: vscode.ChatRequest): { place?: Place } {
  for (const { value } of request.references) {
    if (value instanceof vscode.Location) return { place: placeOf(value.uri, value.range) };
    if (value instanceof vscode.Uri) return { place: placeOf(value) };
  }
  return {};
}

/** VS Code attaches the open file by itself, sometimes without its selection. */
function isOpenFile({ uri, range }: Place): boolean {
  return range === undefined && vscode.window.activeTextEditor?.document.uri.toString() === uri;
}

function placeOf(uri: vscode.Uri, range?: vscode.Range): Place {
  return { uri: uri.toString(), label: relativePath(uri.toString()), range: range && plain(range) };
}

function results(context: vscode.ChatContext): vscode.ChatResult[] {
  return context.history.filter((turn) => turn instanceof vscode.ChatResponseTurn).filter((turn) => turn.participant === ID).map((turn) => turn.result);
}

function refusal(message: string): vscode.ChatResult {
  return { errorDetails: { message } };
}

function toLocation({ uri, range }: Location): vscode.Location {
  return new vscode.Location(vscode.Uri.parse(uri, true), toRange(range));
}
