import type { HostMessage } from '../contract';
import { App, type Host } from './app';
import './ask.css';

declare function acquireVsCodeApi(): Host;

const host = acquireVsCodeApi();
const app = new App(host, document.body);
window.addEventListener('message', ({ data }: MessageEvent<HostMessage>) => { app.receive(data); });
host.postMessage({ type: 'ready' });
