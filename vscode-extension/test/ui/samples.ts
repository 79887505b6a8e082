/** An ordinary answer with all that answers have, for pictures and tests. */
import type { KeptLink, ShownExchange, SpanInfo, Stats } from '../../src/ask/contract';
import { exchange, location } from './harness';

export const ANSWER = `Prices are rounded **up** to whole cents in \`round_up\` (\`shop/pricing.py:12-14\`):

\`\`\`python
def round_up(price: Decimal, places: int = 2) -> Decimal:
    """Round up, as the law asks."""
    step = Decimal(1).scaleb(-places)  # one cent
    return price.quantize(step, rounding="ROUND_UP")
\`\`\`

1. \`Cart.total\` adds up the items, see shop/cart.py:40.
2. Then \`round_up\` is called **once**, on the sum.

| caller | where |
|---|---|
| \`Cart.total\` | shop/cart.py:40 |
| \`invoice\` | shop/invoice.py:7 |
`;

export const STATS: Stats = {
  workspaceTokens: 88_214, keptTokens: 2_640, budgetTokens: 6_000, answerProbability: 0.93,
  stages: { load_target: 0, read: 0.031, index: 0.412, score: 0.187, select: 0.022, prefill: 1.304 },
  ttft: 1.956, promptTokens: 2_931, reusedTokens: 512, decodeTokens: 148, decodeTokensPerSecond: 31.2,
};

const CART = 'file:///repo/shop/cart.py';
const INVOICE = 'file:///repo/shop/invoice.py';

export const SPANS: SpanInfo[] = [
  { location: location(12, 14), score: 4.1, features: { drafter: 2.2, lexical: 1.9 }, tokens: 64, kind: 'function', name: 'round_up' },
  { location: location(31, 44, CART), score: 2.7, features: { drafter: 1.7, symbols: 1 }, tokens: 120, kind: 'method', name: 'Cart.total' },
];

/** Kept code, best first: more than is shown. */
export const KEPT: KeptLink[] = [
  { label: 'shop/pricing.py:12-14', location: location(12, 14), kind: 'function', name: 'round_up' },
  { label: 'shop/cart.py:31-44', location: location(31, 44, CART), kind: 'method', name: 'Cart.total' },
  { label: 'shop/invoicing/international/addresses_and_currencies.py:120-188', location: location(120, 188, INVOICE), kind: 'method', name: 'InternationalInvoice.total_in_currency' },
  ...Array.from({ length: 7 }, (_, index) => ({ label: `shop/invoice.py:${index + 1}`, location: location(index + 1, index + 1, INVOICE), kind: 'top_level', name: '' })),
];

export function sample(over: Partial<ShownExchange> = {}): ShownExchange {
  const links = [
    { label: 'shop/pricing.py:12-14', location: location(12, 14) },
    { label: 'shop/cart.py:40', location: location(40, 40, CART) },
    { label: 'shop/invoice.py:7', location: location(7, 7, INVOICE) },
  ];
  const place = { uri: 'file:///repo/shop/pricing.py', label: 'shop/pricing.py' };
  return exchange({ answer: ANSWER, links, citations: links.map((link) => link.location), spans: SPANS, kept: KEPT.slice(0, 7), stats: STATS, place, ...over });
}
