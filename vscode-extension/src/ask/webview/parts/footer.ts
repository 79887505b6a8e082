import { duration, stages, summary, type Stage } from '../../../figures';
import type { ShownExchange, Stats } from '../../contract';
import { h, iconButton } from '../dom';

/** The buttons and the costs of an answer. */
export function footer({ outcome, answer, spans, stats }: ShownExchange): Node {
  const why = h('button', { type: 'button', class: 'text', 'data-action': 'spans' }, 'Why these spans?');
  const again = h('button', { type: 'button', class: 'text', 'data-action': 'again' }, 'Try again');
  const buttons = h('div', { class: 'actions' },
    answer ? iconButton('copy', 'Copy the answer', 'copy-answer') : undefined,
    outcome === 'answered' ? iconButton('again', 'Ask again', 'again') : again,
    spans.length > 0 ? why : undefined);
  return h('footer', {}, buttons, stats && cost(stats));
}

function cost(stats: Stats): Node {
  const first = stats.ttft === undefined ? 'No token came' : `First token after ${duration(stats.ttft)}`;
  const rows = stages(stats).map(row);
  return h('details', { class: 'cost' }, h('summary', {}, first),
    h('table', { 'aria-label': 'Time to the first token, by stage' }, h('tbody', {}, ...rows)), h('p', {}, summary(stats)));
}

function row({ name, seconds, share }: Stage): Node {
  const bar = h('div', { class: 'bar' });
  bar.style.setProperty('--share', share.toFixed(4));
  return h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'share' }, bar), h('td', { class: 'seconds' }, duration(seconds)));
}
