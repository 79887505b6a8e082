/** The page of the Ask view. */

export interface PageParts {
  /** `webview.cspSource`, the only source of styles. */
  source: string;
  /** Address of dist/ask.js. */
  script: string;
  /** Address of dist/ask.css. */
  style: string;
  /** Random, new for each page. */
  nonce: string;
}

/**
 * The policy allows one script and one style sheet: no pictures, frames, forms, connections or inline styles. Trusted
 * types are required and none can be created, so no string can become markup or script.
 */
export function policy({ source, nonce }: Pick<PageParts, 'source' | 'nonce'>): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

export function pageHtml(parts: PageParts): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(parts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Winnow: Ask</title>
<link rel="stylesheet" href="${parts.style}">
</head>
<body>
<script nonce="${parts.nonce}" src="${parts.script}"></script>
</body>
</html>
`;
}
