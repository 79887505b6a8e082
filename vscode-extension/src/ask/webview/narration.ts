import { counted } from '../../figures';
import type { Announcer } from './announcer';
import { spoken } from './markdown/spoken';
import type { PageEvent, PageState } from './state';

/** Announces changes of the state: stages, the answer in pieces, and its end. */
export function narrate(before: PageState, after: PageState, event: PageEvent, announcer: Announcer): void {
  switch (event.type) {
    case 'started':
      announcer.say('Asked.');
      break;
    case 'progress':
      if (event.message && stage(event.message) !== stage(before.running?.progress ?? '')) announcer.add(`${event.message}.`);
      break;
    case 'kept':
      if (event.links.length > 0) announcer.add(`${counted(event.links.length, 'place')} found${event.provisional ? ' so far' : ''}.`);
      break;
    case 'delta':
      announcer.add(freshParagraphs(before.running?.answer ?? '', after.running?.answer ?? ''));
      break;
    case 'finished':
      announcer.say(ending(before.running?.answer ?? '', event.exchange));
      break;
    case 'readiness':
      if (event.readiness && event.readiness.message !== before.readiness?.message) announcer.add(event.readiness.message);
      break;
    default:
      break;
  }
}

/** A message without its figures, so that `reading 512 of 2,900 tokens` is announced once. */
function stage(message: string): string {
  return message.replace(/\d[\d,]*/g, '');
}

/** Paragraphs that are complete in `after` and were not in `before`. */
function freshParagraphs(before: string, after: string): string {
  return spoken(after.slice(wholePart(before), wholePart(after)));
}

function wholePart(text: string): number {
  return text.lastIndexOf('\n\n') + 1;
}

function ending(said: string, { outcome, answer, error, links }: Extract<PageEvent, { type: 'finished' }>['exchange']): string {
  if (outcome === 'failed') return `Failed: ${error ?? ''}`;
  if (outcome === 'cancelled') return 'Stopped.';
  return `${spoken(answer.slice(wholePart(said)))} End of the answer, ${counted(links.length, 'source')}.`;
}
