/** Numbers for people. */
import type { Stats, Thinking } from './ask/contract';

export interface Stage {
  name: string;
  seconds: number;
  /** Of the whole, 0 to 1. */
  share: number;
}

const NAMES: Record<string, string> = {
  read: 'Reading changed files', load_drafter: 'Loading the drafter', load_target: 'Loading the target', index: 'Indexing',
  score: 'Scoring code', rerank: 'Reranking', select: 'Choosing spans', prefill: 'Reading the prompt',
};

/** The stages of the wait for the first token; those that took no time are left out. */
export function stages({ stages: seconds }: Stats): Stage[] {
  const total = Object.values(seconds).reduce((sum, one) => sum + one, 0);
  const shown = Object.entries(seconds).filter(([, one]) => one >= 0.0005);
  return shown.map(([name, one]) => ({ name: NAMES[name] ?? capitalized(name.replaceAll('_', ' ')), seconds: one, share: one / total }));
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A number with its noun, such as `1 file` or `2,000 files`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function megabytes(bytes: number): string {
  return `${count(Math.round(bytes / 1e6))} MB`;
}

/** `34%`; below one percent `<1%`. */
export function percent(share: number): string {
  return share > 0 && share < 0.01 ? '<1%' : `${Math.round(share * 100)}%`;
}

export function thoughtFor({ seconds, tokens }: Thinking): string {
  return `Thought for ${duration(seconds)} (${counted(tokens, 'token')})`;
}

/** One line about the prompt and the speed of the answer. */
export function summary({ keptTokens, workspaceTokens, reusedTokens, decodeTokensPerSecond }: Stats): string {
  const parts = [`${count(keptTokens)} of ${count(workspaceTokens)} tokens kept`];
  if (reusedTokens > 0) parts.push(`${count(reusedTokens)} reused`);
  if (decodeTokensPerSecond > 0) parts.push(`${decodeTokensPerSecond.toFixed(0)} tokens per second`);
  return parts.join(' · ');
}

/** The progress in a message such as `reading 512 of 2,900 tokens`, 0 to 1. */
export function progressShare(message: string): number | undefined {
  const match = /(\d[\d,]*) of (\d[\d,]*)/.exec(message);
  const [done, total] = [match?.[1], match?.[2]].map((digits) => Number(digits?.replaceAll(',', '')));
  return done !== undefined && total !== undefined && total > 0 ? Math.min(1, done / total) : undefined;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
