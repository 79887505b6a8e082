/** `@winnow` in the chat panel. */
import * as vscode from 'vscode';
import type { AskListener, Location, Place, Question, SpanInfo } from '../ask/contract';
import { keptLinks } from '../ask/links';
import { isInWorkspace, label, plain, relativePath } from '../asking/places';
import { reason } from '../asking/requests';
import type { Service } from '../asking/service';
import { percent } from '../figures';
import { lastLine } from '../lines';
import { likelihood } from '../spans/heat';
import { questionAbout } from '../commands/asking';
import type { Reviews } from '../commands/reviewing';
import type { SpansCommands } from '../commands/spans';
import { Anchors } from './anchors';
import { steps } from './steps';
import { lastMetadata, type Metadata } from './turns';

const ID = 'winnow.repository';
const MOST_FOUND = 10;

export function registerParticipant(service: Service, commands: SpansCommands, reviews: Reviews, icon: vscode.Uri): vscode.Disposable {
  const participant = vscode.chat.createChatParticipant(ID, async (request, context, stream, token) => {
    switch (request.command) {
      case 'find':
        return find(commands, request, stream, token);
      case 'why':
        return why(service, context, stream);
      case 'review':
        return review(reviews, request, stream, token);
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
  const anchored = new Set<string>();
  const anchors = new Anchors({
    text: (text) => { stream.markdown(text); },
    anchor: (location, text) => {
      anchored.add(label(location));
      stream.anchor(toLocation(location), text);
    },
  });
  const listener: AskListener = {
    kept: (spans) => {
      for (const span of spans.slice(0, MOST_FOUND)) refer(span.location);
      anchors.know(keptLinks(spans, relativePath));
    },
    delta: (text) => { anchors.add(text); },
    progress: steps((step) => { stream.progress(step); }),
  };
  const exchange = await service.ask({ ...question, conversation }, listener, token);
  anchors.end();
  exchange.citations.forEach(refer);
  for (const notice of exchange.notices) stream.markdown(`\n\n*${notice}*`);
  cite(exchange.citations.filter((citation) => !anchored.has(label(citation))), stream);
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
  try {
    const { spans } = await commands.find({ text: request.prompt, ...at(request) }, { progress: steps((step) => { stream.progress(step); }) }, token);
    if (spans.length === 0) stream.markdown('Nothing in the workspace seems to answer this.');
    listSpans(spans, stream);
    return {};
  } catch (error) {
    return token.isCancellationRequested ? {} : refusal(reason(error));
  }
}

/** Review uncommitted changes, or those that the prompt names; the findings become problems, too. */
async function review(reviews: Reviews, request: vscode.ChatRequest, stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<vscode.ChatResult> {
  try {
    const made = await reviews.review(request.prompt.trim() || 'working', { progress: steps((step) => { stream.progress(step); }) }, token, false);
    if (made === undefined) return {};
    stream.markdown(`Compared: ${made.title}.\n\n${made.summary}\n\n`);
    for (const { location, confidence, reason: why } of made.findings) {
      stream.anchor(toLocation(location), label(location));
      stream.markdown(` ${confidence} confidence: ${why}\n\n`);
    }
    if (made.findings.length === 0) stream.markdown('No findings.');
    else stream.button({ command: 'workbench.actions.view.problems', title: 'Show Problems' });
    return {};
  } catch (error) {
    return refusal(reason(error));
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

function cite(citations: readonly Location[], stream: vscode.ChatResponseStream): void {
  if (citations.length > 0) stream.markdown('\n\nCited: ');
  for (const citation of citations) {
    stream.anchor(toLocation(citation), label(citation));
    stream.markdown(' ');
  }
}

/** The first file or selection of the workspace attached to the request; the server refuses others. */
function at(request: vscode.ChatRequest): { place?: Place } {
  for (const { value } of request.references) {
    const { uri, range } = value instanceof vscode.Location ? value : { uri: value, range: undefined };
    if (uri instanceof vscode.Uri && isInWorkspace(uri)) return { place: placeOf(uri, range) };
  }
  return {};
}

/** VS Code attaches the open file by itself, sometimes without its selection. */
function isOpenFile({ uri, range }: Place): boolean {
  return range === undefined && vscode.window.activeTextEditor?.document.uri.toString() === uri;
}

function placeOf(uri: vscode.Uri, selected?: vscode.Range): Place {
  const [file, range] = [uri.toString(), selected && plain(selected)];
  return { uri: file, label: range === undefined ? relativePath(file) : label({ uri: file, range }), range };
}

function results(context: vscode.ChatContext): vscode.ChatResult[] {
  return context.history.filter((turn) => turn instanceof vscode.ChatResponseTurn).filter((turn) => turn.participant === ID).map((turn) => turn.result);
}

function refusal(message: string): vscode.ChatResult {
  return { errorDetails: { message } };
}

/** Up to the start of the last line: the panel would name the line after it, too. */
function toLocation({ uri, range }: Location): vscode.Location {
  return new vscode.Location(vscode.Uri.parse(uri, true), new vscode.Range(range.start.line, 0, lastLine(range), 0));
}
