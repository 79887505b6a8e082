import { readFile } from 'node:fs/promises';
import type { Server } from './server';

export type Handler = (path: string) => Promise<void>;

/** What a route needs. */
export interface Route {
  path: string;
  handler: Handler;
}

export enum Method {
  Get = 'GET',
  Post = 'POST',
}

export abstract class Router<T extends Route> implements Iterable<T> {
  private routes: T[] = [];

  constructor(private readonly server: Server) {}

  @logged()
  public async dispatch(path: string): Promise<void> {
    const route = this.routes.find((r) => r.path === path);
    await route?.handler(path);
  }

  @bound
  private readonly find = (path: string): T | undefined => this.routes.find((r) => r.path === path);

  abstract name(): string;

  *[Symbol.iterator](): Iterator<T> {
    yield* this.routes;
  }
}

namespace Paths {
  export function normalise(path: string): string {
    return path.replace(/\/+/g, '/');
  }
}

export const load: Handler = async (path) => {
  await readFile(path);
};

const basket = new Store({
  mutations: {
    clear(state) {
      state.items = [];
    },
  },
});

export const slice = createSlice({
  name: 'basket',
  reducers: {
    added(state, action: PayloadAction<Item>) {
      state.items.push(action.payload);
    },
  },
});

export default {
  async fetch(request: Request) {
    return new Response(request.url);
  },
} satisfies ExportedHandler;
