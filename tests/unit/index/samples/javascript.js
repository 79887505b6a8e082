'use strict';

import fs from 'node:fs';
import { join } from 'node:path';

const CACHE_LIMIT = 64;
const cache = new Map();
var Widget = {
  open() {},
};

/**
 * Reads a file once.
 */
export function readOnce(path) {
  if (!cache.has(path)) {
    cache.set(path, fs.readFileSync(path));
  }
  return cache.get(path);
}

export const evict = (path) => {
  cache.delete(join(path, 'x'));
};

var parseHeader = function (text) {
  return text.split(':');
};

class Store extends EventTarget {
  #items = [];
  static shared = null;

  constructor(limit = CACHE_LIMIT) {
    super();
    this.limit = limit;
  }

  // Number of items.
  get size() {
    return this.#items.length;
  }

  add = async (item) => {
    this.#items.push(item);
  };
}

Store.prototype.clear = function () {
  this.limit = 0;
};

const proto = module.exports = {
  limit: CACHE_LIMIT,

  // Ends a request.
  throw (status) {
    throw new Error(status);
  },

  toJSON: function () {
    return { limit: this.limit };
  },
  short: (text) => text.length,
};

module.exports = {

  /** The name. */

  get label() {
    return name;
  },
};

module.exports.suites = [{ name: 'x', run() { return 1; } }];

const Layer = Evented.extend({
  onAdd(map) {
    map.on('move', () => this.update({ later() { return 1; } }));
  },
});

new Vue({
  methods: {
    save: function () {
      this.saved = true;
    },
  },
});

Object.defineProperty(Layer, 'size', { get() { return 1; } });

export default function main() {
  return new Store().size;
}

main();
