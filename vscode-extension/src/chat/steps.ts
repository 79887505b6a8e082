/** Stages of the wait for an answer, as the chat panel lists them. */
import { stage } from '../status/describe';

const STEPS: Record<string, string> = {
  waiting: 'Waiting',
  loading: 'Loading models',
  searching: 'Searching the code',
  indexing: 'Indexing',
  reading: 'Reading what was found',
  thinking: 'Thinking',
};

/** Tells each new stage once, without its figures: a countdown would be a step a second. */
export function steps(tell: (step: string) => void): (message: string) => void {
  let last: string | undefined;
  return (message) => {
    const step = STEPS[stage(message)];
    if (step !== undefined && step !== last) tell(step);
    last = step ?? last;
  };
}
