/** The output of `winnow models`. */
import { megabytes } from '../figures';
import { AUTO, type Suggested } from './choices';

const USUAL_TARGET = 'qwen2.5-coder-1.5b';

export interface Model {
  name: string;
  roles: string[];
  bytes: number;
  licence: string;
  state: 'ok' | 'missing' | 'damaged';
}

/** A line of `winnow models pull --json`. */
export type Step = { model: string; stage: string; done: number; total: number } | { model: string; file: string };

/** The wanted models that are not complete on this machine; a path to a GGUF file is never among them. */
export function missing(models: readonly Model[], wanted: readonly string[]): Model[] {
  return models.filter((model) => wanted.includes(model.name) && model.state !== 'ok');
}

/** The missing models that the settings name. For `auto` without any target, the one that suits the machine. */
export async function lacking(models: readonly Model[], drafter: string, target: string, suggest: () => Promise<Suggested>): Promise<Model[]> {
  const named = missing(models, [drafter, target]);
  if (target !== AUTO || models.some(({ name, roles, state }) => name !== drafter && roles.includes('target') && state === 'ok')) return named;
  const { suggested, targets } = await suggest();
  const found = targets.find(({ name, here }) => name === suggested && !here);
  return [...named, ...(found ? [{ ...found, roles: ['target'], state: 'missing' as const }] : missing(models, [USUAL_TARGET]))];
}

export function readStep(line: string): Step {
  return JSON.parse(line) as Step;
}

/** Percent of all bytes after `step`, counting the models before it as complete. */
export function percentDone(models: readonly Model[], step: Step): number {
  const index = models.findIndex((model) => model.name === step.model);
  const whole = (until: number): number => models.slice(0, until).reduce((sum, model) => sum + model.bytes, 0);
  const done = whole(index) + ('file' in step ? (models[index]?.bytes ?? 0) : step.done);
  return (100 * done) / whole(models.length);
}

export function describeStep(step: Step): string {
  if ('file' in step) return `${step.model} is here`;
  return `${step.stage}, ${megabytes(step.done)} of ${megabytes(step.total)}`;
}
