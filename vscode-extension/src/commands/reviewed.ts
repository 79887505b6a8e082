/** A review, as the server's `winnow.review` returns it, in the terms of the Problems view. */
import type { Location } from '../ask/contract';

export type Confidence = 'high' | 'medium' | 'low';

export interface Finding {
  location: Location;
  reason: string;
  confidence: Confidence;
  rule: string;
}

export interface Review {
  title: string;
  findings: Finding[];
}

/** The findings of each file, by its URI; files in the order of their first finding. */
export function byFile(findings: readonly Finding[]): Map<string, Finding[]> {
  const files = new Map<string, Finding[]>();
  for (const finding of findings) files.set(finding.location.uri, [...(files.get(finding.location.uri) ?? []), finding]);
  return files;
}

export function summary({ findings }: Review): string {
  if (findings.length === 0) return 'The review found nothing.';
  return `The review found ${findings.length === 1 ? 'one thing' : `${findings.length} things`}.`;
}

/** A question of the chat panel's `/changes`. */
export function aboutChanges(prompt: string): string {
  return `@changes ${prompt}`.trim();
}
