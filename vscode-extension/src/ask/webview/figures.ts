/** Numbers of an answer, for people. */
import { count, counted } from '../../counts';
import type { Stats, Thinking } from '../contract';

export interface Stage {
  name: string;
  seconds: number;
  /** Of the whole, 0 to 1. */
  share: number;
}

const NAMES: Record<string, string> = {
  read: 'Reading changed files', load_drafter: 'Loading the drafter', load_target: 'Loading the target', index: 'Indexing',
  score: 'Scoring code', rerank: 'Reranking', select: 'Choosing spans', look_again: 'Looking again',
  prefill: 'Reading the prompt',
};

/** What the wait for the first token went to; stages that took no time are left out. */
export function stages({ stages: seconds }: Stats): Stage[] {
  const total = Object.values(seconds).reduce((sum, one) => sum + one, 0);
  const shown = Object.entries(seconds).filter(([, one]) => one >= 0.0005);
  return shown.map(([name, one]) => ({ name: NAMES[name] ?? words(name), seconds: one, share: one / total }));
}

export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function thoughtFor({ seconds, tokens }: Thinking): string {
  return `Thought for ${duration(seconds)} (${counted(tokens, 'token')})`;
}

/** One line on what was read and how fast the answer came. */
export function summary({ keptTokens, workspaceTokens, reusedTokens, decodeTokensPerSecond }: Stats): string {
  const parts = [`${count(keptTokens)} of ${count(workspaceTokens)} tokens kept`];
  if (reusedTokens > 0) parts.push(`${count(reusedTokens)} reused`);
  if (decodeTokensPerSecond > 0) parts.push(`${decodeTokensPerSecond.toFixed(0)} tokens a second`);
  return parts.join(' · ');
}

/** How far a message such as `reading 512 of 2,900 tokens` says it is, 0 to 1. */
export function progressShare(message: string): number | undefined {
  const match = /(\d[\d,]*) of (\d[\d,]*)/.exec(message);
  const [done, total] = [match?.[1], match?.[2]].map((digits) => Number(digits?.replaceAll(',', '')));
  return done !== undefined && total !== undefined && total > 0 ? Math.min(1, done / total) : undefined;
}

function words(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
}
