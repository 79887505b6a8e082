import { execFileSync } from 'node:child_process';

/** Build what is tested, as it ships. */
export default function setup(): void {
  execFileSync('node', ['esbuild.mjs'], { stdio: 'inherit' });
}
