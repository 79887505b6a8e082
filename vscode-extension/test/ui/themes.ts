/** VS Code's own themes, as VS Code 1.139 gives them to a webview, as far as the page and VS Code's style sheet use them. */
import themes from './themes.json' with { type: 'json' };

export type ThemeName = keyof typeof themes;

export interface Theme {
  /** Classes that VS Code puts on the page's body. */
  classes: string;
  /** Of the side bar, behind the page. */
  background: string;
  variables: Record<string, string>;
}

export const THEMES: Record<ThemeName, Theme> = themes;
export const THEME_NAMES = Object.keys(themes) as ThemeName[];
